import { Problem } from '../problem.ts';

/** A form with a file, as browsers send it: `multipart/form-data` (RFC 7578). */
export interface FileForm {
  /** The fields before the file. */
  readonly fields: URLSearchParams;
  /** The bytes of the file as they arrive; absent if the form has none. Data after the file is discarded. */
  readonly file: AsyncIterable<Buffer> | undefined;
}

/** The maximum size of a field, and of the headers of a part, in bytes. */
const FIELD_BYTES_MAX = 4096;
const FIELDS_MAX = 20;

/** The bytes that a form may have besides its file. */
export const ENVELOPE_BYTES_MAX = FIELDS_MAX * 2 * FIELD_BYTES_MAX;

/**
 * Reads the fields of a form up to its first file. The caller reads the file.
 * @param contentType the `Content-Type` of the body
 * @throws {Problem} `invalid_content_type`; `malformed_request`; also any error of reading the chunks
 */
export async function readFileForm(chunks: AsyncIterable<Buffer>, contentType: string): Promise<FileForm> {
  const boundary = boundaryOf(contentType);
  if (boundary === undefined) throw new Problem('invalid_content_type', 400, 'Send the form as multipart/form-data.');
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  const parts = new PartReader(chunks);
  const fields = new URLSearchParams();
  await parts.read(delimiter);
  while ((await parts.read(LINE_END)).length === 0) {
    const headers = (await parts.read(HEADERS_END)).toString('utf8');
    const name = /^content-disposition:\s*form-data;.*?\bname="([^"]*)"/im.exec(headers)?.[1];
    if (name === undefined) throw malformed();
    if (/;\s*filename=/i.test(headers)) return { fields, file: parts.until(delimiter) };
    if (fields.size >= FIELDS_MAX) throw malformed();
    fields.append(name, (await parts.read(delimiter)).toString('utf8'));
  }
  return { fields, file: undefined };
}

/** Returns the boundary of the parts; undefined if this is not the `Content-Type` of a form with a file. */
export function boundaryOf(contentType: string): string | undefined {
  const type = /^\s*multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType);
  return type?.[1] ?? type?.[2];
}

const LINE_END = Buffer.from('\r\n');
const HEADERS_END = Buffer.from('\r\n\r\n');

function malformed(): Problem {
  return new Problem('malformed_request', 400, 'The form is not valid multipart/form-data, or is cut off.');
}

class PartReader {
  readonly #chunks: AsyncIterator<Buffer>;
  /**
   * Bytes that were read but not returned yet. Starts with a line break, because the first delimiter has none before
   * it.
   */
  #rest: Buffer = LINE_END;

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** Returns the bytes before the next delimiter, at most a few, and skips the delimiter. */
  async read(delimiter: Buffer): Promise<Buffer> {
    let bytes = Buffer.alloc(0);
    for await (const part of this.until(delimiter)) {
      bytes = Buffer.concat([bytes, part]);
      if (bytes.length > FIELD_BYTES_MAX) throw malformed();
    }
    return bytes;
  }

  /** Yields the bytes before the next delimiter, and skips the delimiter. */
  async *until(delimiter: Buffer): AsyncGenerator<Buffer> {
    for (;;) {
      const index = this.#rest.indexOf(delimiter);
      // The last bytes may be the beginning of a delimiter.
      const length = index < 0 ? Math.max(0, this.#rest.length - delimiter.length + 1) : index;
      const bytes = this.#rest.subarray(0, length);
      this.#rest = this.#rest.subarray(index < 0 ? length : index + delimiter.length);
      if (length > 0) yield bytes;
      if (index >= 0) return;
      const { done, value } = await this.#chunks.next();
      if (done) throw malformed();
      this.#rest = Buffer.concat([this.#rest, value]);
    }
  }
}
