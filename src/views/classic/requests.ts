import { boundaryOf } from '../../lib/http/server/multipart.ts';
import type { AdmittedViewRequest, ViewRequest } from '../../lib/http/server/view.ts';
import { parseJson } from './json.ts';
import { type ClassicShape, type Item, MismatchError, parseLong, readItem, readItems } from './shapes.ts';
import { parseItem, parseItems } from './xml.ts';

/**
 * Why an operation cannot use a request: the id in its path is no number, or its body is missing, of an unsupported type,
 * malformed, or does not match the shape.
 */
export type InputFault = 'id' | 'missing' | 'unsupported' | 'malformed' | 'mismatch';

export class InputError extends Error {
  readonly fault: InputFault;
  /** The id as it was sent, or the name of the shape of the body; '' for forms and files. */
  readonly subject: string;

  constructor(fault: InputFault, subject = '') {
    super();
    this.fault = fault;
    this.subject = subject;
  }
}

/** Returns the id in a path. @throws {InputError} */
export function idIn({ parameters }: ViewRequest, name: 'petId' | 'orderId'): bigint {
  const text = parameters[name]!;
  const id = parseLong(text);
  if (id === undefined) throw new InputError('id', text);
  return id;
}

/** Returns the media type of the body, in lower case; '' if there is none. */
export function bodyType(request: ViewRequest): string {
  return (request.header('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase();
}

/** Returns the object in a body. @throws {InputError} */
export function readBodyItem(request: AdmittedViewRequest, shape: ClassicShape): Item {
  return readBody(request, shape, parseItem, readItem);
}

/** Returns the objects in the list of a body. @throws {InputError} */
export function readBodyItems(request: AdmittedViewRequest, shape: ClassicShape): Item[] {
  return readBody(request, shape, parseItems, readItems);
}

function readBody<T>(
  request: AdmittedViewRequest,
  shape: ClassicShape,
  parse: (shape: ClassicShape, text: string) => unknown,
  read: (shape: ClassicShape, value: unknown) => T,
): T {
  const { body } = request;
  if (body.length === 0) throw new InputError('missing', shape.name);
  const type = bodyType(request);
  const isXml = xmlTypes.includes(type);
  if (!isXml && type !== 'application/json') throw new InputError('unsupported', shape.name);
  let value: unknown;
  try {
    value = isXml ? parse(shape, decoder.decode(body)) : parseJson(decoder.decode(body));
  } catch (error) {
    throw new InputError(error instanceof MismatchError ? 'mismatch' : 'malformed', shape.name);
  }
  if (value === null) throw new InputError('missing', shape.name);
  try {
    return read(shape, value);
  } catch (error) {
    throw error instanceof MismatchError ? new InputError('mismatch', shape.name) : error;
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true });
const xmlTypes = ['application/xml', 'text/xml'];

/** Returns the fields of the form in a body; none if the body is empty. @throws {InputError} */
export function readForm(request: AdmittedViewRequest): URLSearchParams {
  const { body } = request;
  if (body.length > 0 && bodyType(request) !== 'application/x-www-form-urlencoded') throw new InputError('unsupported');
  return new URLSearchParams(body.toString('utf8'));
}

/** Returns the values of a query parameter, which can be repeated and separated by commas. */
export function listParameter({ search }: ViewRequest, name: string): readonly string[] {
  return new URLSearchParams(search).getAll(name).flatMap(value => value.split(','));
}

/** Reports whether the client prefers XML to JSON. Of two types with the same quality, it prefers the first. */
export function prefersXml(request: ViewRequest): boolean {
  const ranges = new Map<string, number>();
  for (const part of (request.header('accept') ?? '').toLowerCase().split(',')) {
    const [range = '', ...parameters] = part.split(';').map(text => text.trim());
    const q = Number(parameters.find(text => text.startsWith('q='))?.slice(2) ?? 1);
    if (!ranges.has(range)) ranges.set(range, Number.isNaN(q) ? 1 : q);
  }
  const quality = (...names: readonly string[]) => names.map(name => ranges.get(name)).find(q => q !== undefined) ?? 0;
  const xml = quality(...xmlTypes);
  const json = quality('application/json', 'application/*', '*/*');
  if (xml !== json) return xml > json;
  const first = [...ranges.keys()].find(range => xmlTypes.includes(range) || /json|\*/.test(range));
  return xml > 0 && xmlTypes.includes(first!);
}

/** A file in a form. */
export interface UploadedFile {
  readonly name: string;
  readonly bytes: number;
}

/** The parts of a multipart form: its fields, and its first file. */
export interface UploadForm {
  readonly fields: ReadonlyMap<string, string>;
  readonly file: UploadedFile | undefined;
}

const PARTS_MAX = 20;
/** The size of a form without its file, because responses repeat its texts. */
const TEXT_BYTES_MAX = 64 * 1024;

/**
 * Reads a form with a file (RFC 7578), in any order.
 * @throws {InputError}
 */
export function readUpload(request: AdmittedViewRequest): UploadForm {
  const boundary = boundaryOf(request.header('content-type') ?? '');
  if (boundary === undefined) throw new InputError('unsupported');
  const delimiter = Buffer.from(`--${boundary}`);
  const fields = new Map<string, string>();
  let file: UploadedFile | undefined;
  let textBytes = 0;
  for (const part of partsOf(request.body, delimiter)) {
    const { name = '', fileName, content } = readPart(part);
    textBytes += fileName === undefined ? part.length : part.length - content.length;
    if (textBytes > TEXT_BYTES_MAX) throw new InputError('malformed');
    if (fileName === undefined) fields.set(name, content.toString('utf8'));
    else if (name === 'file') file ??= { name: fileName, bytes: content.length };
  }
  return { fields, file };
}

function readPart(part: Buffer) {
  const end = part.indexOf('\r\n\r\n');
  if (end < 0) throw new InputError('malformed');
  const header = /^content-disposition:\s*form-data;(.*)$/im.exec(part.toString('utf8', 0, end))?.[1] ?? '';
  return {
    name: /\bname="([^"]*)"/i.exec(header)?.[1],
    fileName: /\bfilename="([^"]*)"/i.exec(header)?.[1],
    content: part.subarray(end + 4),
  };
}

/** Returns the parts between the delimiters, without the line breaks that belong to these. */
function partsOf(body: Buffer, delimiter: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  const first = body.indexOf(delimiter);
  if (first < 0) throw new InputError('malformed');
  const next = Buffer.concat([Buffer.from('\r\n'), delimiter]);
  for (let from = first + delimiter.length; body.toString('latin1', from, from + 2) !== '--'; ) {
    const end = body.indexOf(next, from);
    if (end < 0 || parts.length === PARTS_MAX) throw new InputError('malformed');
    parts.push(body.subarray(from + 2, end));
    from = end + next.length;
  }
  return parts;
}
