import { createHash } from 'node:crypto';
import { Problem } from '../problem.ts';

/** The strong entity tag of an answer that has no version of its own: another one for other bytes or headers. */
export function etagOf(bytes: string | Buffer, headers: readonly string[]): string {
  const hash = createHash('sha256').update(bytes);
  for (const text of headers) hash.update('\0').update(text);
  return `"${hash.digest('base64url').slice(0, 22)}"`;
}

/**
 * Whether the answer with this entity tag is the one that the caller has already (RFC 9110, 13.1.2). A header that is no
 * list of entity tags names nothing.
 */
export function isKnown(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true;
  // Here a weak tag is as good as a strong one: a proxy that compresses answers makes ours weak.
  return tagsOf(ifNoneMatch)?.some(tag => tag.replace(/^W\//, '') === etag) ?? false;
}

/** What a request expects of the version that there is: its two headers, where it has them. */
export interface Preconditions {
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

/**
 * Judges what a request expects of the version that there is (RFC 9110, 13.1.1 and 13.1.2).
 * @throws {Problem} `precondition_failed`; `invalid_parameter` for a header that is no list of entity tags
 */
export function requireExpected({ ifMatch, ifNoneMatch }: Preconditions, etag: string): void {
  if (ifMatch !== undefined && ifMatch !== etag && ifMatch.trim() !== '*') {
    const tags = tagsOf(ifMatch);
    if (tags === undefined) throw malformed('If-Match');
    // A weak tag never matches: it does not promise that every byte is the same.
    if (!tags.includes(etag))
      throw failed(`If-Match names another version than the one there is now, which is ${etag}.`);
  }
  if (ifNoneMatch !== undefined) {
    if (ifNoneMatch.trim() !== '*' && tagsOf(ifNoneMatch) === undefined) throw malformed('If-None-Match');
    if (isKnown(ifNoneMatch, etag)) throw failed(`If-None-Match names the version that there is, which is ${etag}.`);
  }
}

/**
 * The entity tags of a list, weak ones with their `W/`; `undefined` where it is none. Empty elements are passed over
 * (RFC 9110, 5.6.1).
 */
function tagsOf(header: string): string[] | undefined {
  // Nothing but a tag has quotes, and a tag may hold a comma: every other piece is what stands within two quotes.
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
  const message = 'Must be * or a list of entity tags in double quotes, as they came in ETag.';
  return new Problem('invalid_parameter', 400, `Invalid parameters. ${name}: ${message}`, {
    errors: [{ path: name, code: 'invalid_value', message }],
  });
}

function failed(message: string): Problem {
  return new Problem('precondition_failed', 412, message);
}
