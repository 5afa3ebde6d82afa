import { iterator } from './stream.ts';
import type { FetchBody, RequestBody } from './transport.ts';

/** A file to send: the path of a file (on Node.js), its content, or a stream. A function opens a new stream each time. */
export type FileSource = string | Blob | Uint8Array | ArrayBuffer | Stream | (() => Stream | Promise<Stream>);

type Stream = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** The content types of files by their extensions, beside the usual type of each operation. */
const types: Readonly<Record<string, string>> = {
  ndjson: 'application/x-ndjson',
  png: 'image/png',
  webp: 'image/webp',
};

/** Returns the body of an upload. @param usualType the content type if neither the file nor its name has one */
export function fileBody(file: FileSource, usualType: string): RequestBody {
  const { type, name = typeof file === 'string' && file } = file as File;
  const body = { type: type || (types[String(name).split('.').at(-1)!.toLowerCase()] ?? usualType) };
  if (typeof file === 'string') return { ...body, open: () => openFile(file) };
  if (typeof file === 'function') return { ...body, open: async () => bodyOf(await file()) };
  const once = file instanceof ReadableStream || iterator in file;
  return { ...body, once, open: () => (once ? bodyOf(file as Stream) : (file as FetchBody)) };
}

/** Returns a file that is read while it is sent. */
async function openFile(path: string): Promise<Blob> {
  // The name is a variable, because tools that bundle programs for browsers reject the name of a module of Node.js.
  const module = 'node:fs';
  const { openAsBlob } = (await import(
    /* @vite-ignore */ /* webpackIgnore: true */ module
  )) as typeof import('node:fs');
  return openAsBlob(path);
}

/** Returns a stream as a body. Browsers cannot send streams over HTTP/1.1, so they read it first. */
async function bodyOf(stream: Stream): Promise<FetchBody> {
  return 'process' in globalThis ? (stream as FetchBody) : new Response(stream as FetchBody).blob();
}
