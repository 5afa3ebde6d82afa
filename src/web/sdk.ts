import { readdir, readFile } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { contentEtag } from '../lib/http/server/conditional.ts';
import { IMMUTABLE } from '../lib/http/server/pages.ts';
import { anyOrigin, type PageContent } from '../lib/http/server/responses.ts';
import { memoize } from '../lib/one-per.ts';
import { compress } from './compress.ts';

const directory = new URL('../../sdk/', import.meta.url);

/** The content types of the files, by extension. */
const types: Readonly<Record<string, string>> = {
  tgz: 'application/gzip',
  js: 'text/javascript; charset=utf-8',
  py: 'text/x-python; charset=utf-8',
};

const contents = new Map<string, Promise<PageContent>>();

const readPackage = memoize(
  async () =>
    JSON.parse(await readFile(new URL('package.json', directory), 'utf8')) as { version: string; files: string[] },
);

/**
 * Returns a file of the SDK: `petstore-1.0.0.tgz` never changes, and `petstore.tgz` redirects to it. The same holds for
 * `js`, the client as one module for browsers, and `py`.
 */
export async function sdkFile(name: string): Promise<PageContent | undefined> {
  const { version } = await readPackage();
  const [, given, extension = ''] = name.match(/^petstore(?:-([\d.]+))?\.(\w+)$/) ?? [];
  if (!Object.hasOwn(types, extension)) return undefined;
  if (given === undefined) return redirect(`/sdk/petstore-${version}.${extension}`);
  if (given !== version) return undefined;
  const content = contents.getOrInsertComputed(extension, newContent);
  content.catch(() => contents.delete(extension));
  return await content;
}

function redirect(path: string): PageContent {
  const headers = ['Location', path, ...anyOrigin];
  return { status: 302, bytes: '', cacheControl: 'no-cache', headers };
}

async function newContent(extension: string): Promise<PageContent> {
  const bytes = extension === 'tgz' ? await packSdk() : await readFile(new URL(fileOf[extension]!, directory));
  return {
    ...{ status: 200, contentType: types[extension]!, bytes, etag: contentEtag(bytes, []) },
    ...(extension !== 'tgz' && { compressed: await compress(bytes) }),
    ...{ cacheControl: IMMUTABLE, headers: anyOrigin },
  };
}

const fileOf: Readonly<Record<string, string>> = { js: 'dist/petstore.js', py: 'python/petstore.py' };

/** Returns the package as `npm pack` would write it, but with the same bytes on every machine. */
async function packSdk(): Promise<Buffer> {
  const { files } = await readPackage();
  const lists = await Promise.all(
    files.map(async folder => (await readdir(new URL(folder, directory))).map(name => `${folder}/${name}`)),
  );
  const paths = ['LICENSE', 'README.md', 'package.json', ...lists.flat().sort()];
  const entries = await Promise.all(
    paths.map(async path => tarEntry(`package/${path}`, await readFile(new URL(path, directory)))),
  );
  return gzipStored(Buffer.concat([...entries, Buffer.alloc(2 * TAR_BLOCK)]));
}

const TAR_BLOCK = 512;
/** The time that npm writes into packages: 1985-10-26 08:15 UTC. */
const MODIFIED = 499_162_500;

/** Returns a file in the format of tar (POSIX.1-1988, ustar). */
function tarEntry(path: string, content: Buffer): Buffer {
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`;
  const header = Buffer.alloc(TAR_BLOCK);
  const fields: readonly (readonly [at: number, text: string])[] = [
    ...([
      [0, path],
      [100, octal(0o644, 8)],
      [108, octal(0, 8)],
      [116, octal(0, 8)],
    ] as const),
    ...([
      [124, octal(content.length, 12)],
      [136, octal(MODIFIED, 12)],
      [148, ' '.repeat(8)],
      [156, '0'],
    ] as const),
    [257, 'ustar\x0000'],
  ];
  for (const [at, text] of fields) header.write(text, at, 'latin1');
  header.write(
    octal(
      header.reduce((sum, byte) => sum + byte),
      7,
    ),
    148,
    'latin1',
  );
  return Buffer.concat([header, content, Buffer.alloc(-content.length & (TAR_BLOCK - 1))]);
}

/** The largest block without compression (RFC 1951, 3.2.4). */
const STORED_MAX = 0xff_ff;

/**
 * Returns bytes in the format of gzip (RFC 1952) without compressing them: what zlib writes differs between processors, and
 * lock files have the checksum of the package.
 */
function gzipStored(bytes: Buffer): Buffer {
  const parts: Buffer[] = [Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff])];
  for (let at = 0; at < bytes.length; at += STORED_MAX) {
    const block = bytes.subarray(at, at + STORED_MAX);
    const head = Buffer.from([at + STORED_MAX >= bytes.length ? 1 : 0, 0, 0, 0, 0]);
    head.writeUInt16LE(block.length, 1);
    head.writeUInt16LE(block.length ^ STORED_MAX, 3);
    parts.push(head, block);
  }
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc32(bytes), 0);
  trailer.writeUInt32LE(bytes.length, 4);
  return Buffer.concat([...parts, trailer]);
}
