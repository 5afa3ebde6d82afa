import { isUtf8 } from 'node:buffer';

type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252' | 'macintosh';

/**
 * Decodes files as they arrive. Those of spreadsheet programs are UTF-8 or UTF-16, with and without a byte order mark, and
 * Windows-1252 if the bytes are not UTF-8, or Mac Roman if the first line also ends with CR alone.
 */
export class FileDecoder {
  #encoding: Encoding | undefined;
  #decoder = new TextDecoder();
  /** The first bytes of a character whose last ones are in the next part. */
  #rest: Buffer = Buffer.alloc(0);
  /** Whether the file has a character that is certainly UTF-8. */
  #hasUtf8 = false;
  #isMacintosh: boolean | undefined;

  /** @param utf8Only whether the file can only be UTF-8, as JSON is */
  constructor(utf8Only: boolean) {
    if (!utf8Only) return;
    this.#hasUtf8 = true;
    this.#use('utf-8');
  }

  /** Returns the text of the next part; without one, of the bytes that are left. @throws {TypeError} if UTF-8 is damaged */
  decode(part?: Buffer): string {
    const stream = part !== undefined;
    const bytes = part === undefined ? this.#rest : Buffer.concat([this.#rest, part]);
    this.#rest = Buffer.alloc(0);
    if (this.#encoding === undefined) {
      if (stream && bytes.length < MARK_LENGTH) {
        this.#rest = bytes;
        return '';
      }
      this.#begin(bytes);
    }
    if (this.#encoding === 'utf-8') {
      this.#isMacintosh ??= endsWithReturn(bytes);
      const end = stream ? endOfWhole(bytes) : bytes.length;
      const whole = bytes.subarray(0, end);
      if (isUtf8(whole)) {
        this.#hasUtf8 ||= whole.some(byte => byte > ASCII_MAX);
        this.#rest = bytes.subarray(end);
        return this.#decoder.decode(whole, { stream });
      }
      if (this.#hasUtf8 || /[^\0-\x7F\uFFFD]/.test(whole.toString('utf8'))) throw new TypeError('Damaged UTF-8.');
      this.#use(this.#isMacintosh ? 'macintosh' : 'windows-1252');
    }
    return this.#decoder.decode(bytes, { stream });
  }

  #begin(bytes: Buffer): void {
    const [first, second] = bytes;
    const isLittle = (first === 0xff && second === 0xfe) || (first !== 0 && second === 0);
    const isBig = (first === 0xfe && second === 0xff) || (first === 0 && second !== 0);
    this.#hasUtf8 = first === 0xef && second === 0xbb;
    this.#use(isLittle ? 'utf-16le' : isBig ? 'utf-16be' : 'utf-8');
  }

  #use(encoding: Encoding): void {
    this.#encoding = encoding;
    this.#decoder = new TextDecoder(encoding, { fatal: true });
  }
}

const MARK_LENGTH = 3;
const ASCII_MAX = 0x7f;
const RETURN = 0x0d;

/** Returns where the last whole character of UTF-8 ends. A carriage return is none before it is clear what follows. */
function endOfWhole(bytes: Buffer): number {
  for (let length = 1; length <= Math.min(4, bytes.length); length++) {
    const byte = bytes[bytes.length - length]!;
    if (length === 1 && byte === RETURN) return bytes.length - 1;
    if (byte <= ASCII_MAX) return bytes.length;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 0;
    if (needed > 0) return needed > length ? bytes.length - length : bytes.length;
  }
  return bytes.length;
}

/** Reports whether the first line ends with CR alone; `undefined` if it does not end. */
function endsWithReturn(bytes: Buffer): boolean | undefined {
  const [end] = /\r\n|\n|\r(?=.)/s.exec(bytes.toString('latin1')) ?? [];
  return end === undefined ? undefined : end === '\r';
}
