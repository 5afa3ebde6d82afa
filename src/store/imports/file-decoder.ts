import { isUtf8 } from 'node:buffer';

type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252' | 'macintosh';

/**
 * Decodes files as they arrive. Spreadsheet programs write UTF-8 or UTF-16, with or without a byte order mark. Bytes
 * that are not UTF-8 are Windows-1252, or Mac Roman if the first line also ends with CR alone.
 */
export class FileDecoder {
  #encoding: Encoding | undefined;
  #decoder = new TextDecoder();
  /** The first bytes of a character whose remaining bytes are in the next part. */
  #rest: Buffer = Buffer.alloc(0);
  /** Whether the file has a multibyte UTF-8 character. */
  #hasUtf8 = false;
  #isMacintosh: boolean | undefined;

  /** @param utf8Only whether the file must be UTF-8, like JSON */
  constructor(utf8Only: boolean) {
    if (!utf8Only) return;
    this.#hasUtf8 = true;
    this.#use('utf-8');
  }

  /**
   * Returns the text of the next part; without a part, of the remaining bytes.
   * @throws {TypeError} if UTF-8 is damaged
   */
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

/**
 * Returns the end of the last complete UTF-8 character. A final carriage return is incomplete until the next character
 * is known.
 */
function endOfWhole(bytes: Buffer): number {
  for (let length = 1; length <= Math.min(4, bytes.length); length++) {
    const byte = bytes[bytes.length - length]!;
    if (length === 1 && byte === RETURN) return bytes.length - 1;
    if (byte <= ASCII_MAX) return bytes.length;
    const needed = characterLength(byte);
    if (needed > 0) return needed > length ? bytes.length - length : bytes.length;
  }
  return bytes.length;
}

/**
 * Returns the length in bytes of the UTF-8 character that starts with this byte; 0 for a byte that starts no multibyte
 * character.
 */
function characterLength(byte: number): number {
  if (byte >= 0xf0) return 4;
  if (byte >= 0xe0) return 3;
  return byte >= 0xc0 ? 2 : 0;
}

/** Reports whether the first line ends with CR alone; `undefined` if the end of the line is not known yet. */
function endsWithReturn(bytes: Buffer): boolean | undefined {
  const [end] = /\r\n|\n|\r(?=.)/s.exec(bytes.toString('latin1')) ?? [];
  return end === undefined ? undefined : end === '\r';
}
