import { isUtf8 } from 'node:buffer';
import { countText } from '../../text.ts';
import { Problem } from '../problem.ts';

/** A JSON value as text, which is sent as it is. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Reports that a body is not JSON. */
export class NotJson extends Problem {
  constructor(message: string) {
    super('invalid_json', 400, message);
  }
}

/**
 * Parses a body as JSON (RFC 8259), with JavaScript's numbers. The last of duplicate members counts.
 * @throws {NotJson} for an empty body, one that is not UTF-8, begins with a byte order mark, is not JSON, or is larger
 *   than 64 KiB and has more than 10,000 levels or 20,000 values, which is more than any operation accepts
 */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) throw new NotJson('The body is empty; it must be one JSON value.');
  if (!isUtf8(bytes)) throw new NotJson('The body is not UTF-8.');
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw new NotJson('The body begins with a byte order mark, which JSON must not have.');
  }
  if (bytes.length > LARGE_JSON_BYTES_MIN) requireReadable(bytes);
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    // The parser's message quotes the body, which may contain a secret, so only the position is reported.
    const place = /at position \d+(?: \(line \d+ column \d+\))?/.exec((error as Error).message)?.[0];
    throw new NotJson(place === undefined ? 'The body is not valid JSON.' : `The body is not valid JSON ${place}.`);
  }
}

/** Smaller bodies cannot have so many levels or values that parsing them delays other requests. */
export const LARGE_JSON_BYTES_MIN = 64 * 1024;
export const JSON_NESTING_MAX = 10_000;
export const JSON_VALUES_MAX = 20_000;

/** Scans a large body without parsing it, in a few milliseconds. */
function requireReadable(bytes: Buffer): void {
  let depth = 0;
  let values = 1;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index];
    if (byte === QUOTE) index = endOfString(bytes, index);
    else if (byte === COMMA) values++;
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) depth++;
    else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth--;
    if (values > JSON_VALUES_MAX) throw new NotJson(`The body has more than ${countText(JSON_VALUES_MAX)} values.`);
    if (depth > JSON_NESTING_MAX) {
      throw new NotJson(`The body is nested more than ${countText(JSON_NESTING_MAX)} levels deep.`);
    }
  }
}

/** Returns the index of the closing quote of a JSON string, or the end of the bytes. */
function endOfString(bytes: Buffer, start: number): number {
  let index = start + 1;
  while (index < bytes.length && bytes[index] !== QUOTE) index += bytes[index] === BACKSLASH ? 2 : 1;
  return index;
}

const [QUOTE, BACKSLASH, COMMA, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = Buffer.from('"\\,[]{}');
