import { hash } from 'node:crypto';
import { invalidParameter, Problem } from '../problem.ts';

/** Returns a strong entity tag for a response without a version: a hash of its body and headers. */
export function contentEtag(bytes: string | Buffer, headers: readonly string[]): string {
  let ends = '';
  for (const text of headers) ends += `\0${text}`;
  const hashed = typeof bytes === 'string' ? bytes + ends : Buffer.concat([bytes, Buffer.from(ends)]);
  return `"${hash('sha256', hashed, 'base64url').slice(0, 22)}"`;
}

/** Reports whether `If-None-Match` names this entity tag (RFC 9110, 13.1.2). Always false for a malformed header. */
export function isKnown(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true;
  // Weak comparison, because a proxy that compresses responses makes our tags weak.
  return tagsOf(ifNoneMatch)?.some(tag => tag.replace(/^W\//, '') === etag) ?? false;
}

/**
 * Evaluates `If-Match` and `If-None-Match` of a change against the current version (RFC 9110, 13.1.1 and 13.1.2).
 * @param etag `undefined` if the change creates the resource
 * @throws {Problem} `precondition_failed`; `invalid_parameter` for a header that is not a list of entity tags
 */
export function requirePreconditions(
  ifMatch: string | undefined,
  ifNoneMatch: string | undefined,
  etag: string | undefined,
): void {
  if (ifMatch !== undefined && ifMatch !== etag) requireMatch(ifMatch, etag);
  if (ifNoneMatch !== undefined) requireNoMatch(ifNoneMatch, etag);
}

function requireMatch(ifMatch: string, etag: string | undefined): void {
  const isAny = ifMatch.trim() === '*';
  const tags = isAny ? [] : tagsOf(ifMatch);
  if (tags === undefined) throw malformed('If-Match');
  if (etag === undefined) throw failed('If-Match requires an existing version, but there is none yet.');
  // A weak tag never matches: it does not guarantee identical bytes.
  if (!isAny && !tags.includes(etag)) {
    throw failed(`If-Match does not name the current version, which is ${etag}.`);
  }
}

function requireNoMatch(ifNoneMatch: string, etag: string | undefined): void {
  if (ifNoneMatch.trim() !== '*' && tagsOf(ifNoneMatch) === undefined) throw malformed('If-None-Match');
  if (etag !== undefined && isKnown(ifNoneMatch, etag)) {
    throw failed(`If-None-Match names the current version, which is ${etag}.`);
  }
}

/**
 * Returns the entity tags of a list, weak ones with `W/`; `undefined` when it is malformed. Skips empty elements (RFC
 * 9110, 5.6.1).
 */
function tagsOf(header: string): string[] | undefined {
  // Only tags have quotes, and they may contain commas: every second piece is a tag.
  const pieces = header.split('"');
  if (pieces.length % 2 === 0 || pieces.length === 1) return undefined;
  const tags: string[] = [];
  for (let index = 0; index < pieces.length - 1; index += 2) {
    const before = pieces[index]!;
    const within = pieces[index + 1]!;
    if (!(index === 0 ? beforeFirst : between).test(before) || !opaque.test(within)) return undefined;
    tags.push(`${before.endsWith('/') ? 'W/' : ''}"${within}"`);
  }
  return afterLast.test(pieces.at(-1)!) ? tags : undefined;
}

const beforeFirst = /^[ \t,]*(?:W\/)?$/;
const between = /^[ \t]*,[ \t,]*(?:W\/)?$/;
const afterLast = /^[ \t,]*$/;
const opaque = /^[\x21\x23-\x7e\x80-\xff]*$/;

function malformed(name: string): Problem {
  return invalidParameter(name, 'Must be * or a list of entity tags in double quotes, as in the ETag header.');
}

function failed(message: string): Problem {
  return new Problem('precondition_failed', 412, message);
}
