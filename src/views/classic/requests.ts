import { boundaryOf } from '../../lib/http/server/multipart.ts';
import type { AdmittedViewRequest, ViewRequest } from '../../lib/http/server/view.ts';
import { parseJson } from './json.ts';
import { type ClassicShape, type Item, Misfit, readItem, readItems } from './shapes.ts';
import { parseItem, parseItems } from './xml.ts';

/** A body that an operation cannot use: there is none, its type is not supported, it is malformed or does not fit. */
export type BodyFault = 'missing' | 'unsupported' | 'malformed' | 'misfit';

export class BodyError extends Error {
  readonly fault: BodyFault;

  constructor(fault: BodyFault) {
    super();
    this.fault = fault;
  }
}

/** Returns the media type of the body, in lower case; '' if there is none. */
export function bodyType(request: ViewRequest): string {
  return (request.header('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase();
}

/**
 * Returns the object in a body.
 * @throws {BodyError}
 */
export function readBodyItem(request: AdmittedViewRequest, shape: ClassicShape): Item {
  return parsed(request, shape, parseItem, value => readItem(shape, value));
}

/**
 * Returns the objects in the list of a body.
 * @throws {BodyError}
 */
export function readBodyItems(request: AdmittedViewRequest, shape: ClassicShape): Item[] {
  return parsed(request, shape, parseItems, value => readItems(shape, value));
}

function parsed<T>(
  request: AdmittedViewRequest,
  shape: ClassicShape,
  parse: (shape: ClassicShape, text: string) => unknown,
  read: (value: unknown) => T,
): T {
  if (request.body.length === 0) throw new BodyError('missing');
  const type = bodyType(request);
  const isXml = xmlTypes.includes(type);
  if (!isXml && type !== 'application/json') throw new BodyError('unsupported');
  let value: unknown;
  try {
    const text = decoder.decode(request.body);
    value = isXml ? parse(shape, text) : parseJson(text);
  } catch (error) {
    throw new BodyError(error instanceof Misfit ? 'misfit' : 'malformed');
  }
  if (value === null) throw new BodyError('missing');
  try {
    return read(value);
  } catch (error) {
    throw error instanceof Misfit ? new BodyError('misfit') : error;
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true });
const xmlTypes = ['application/xml', 'text/xml'];

/** Returns the fields of a form in a body; none if the body is no form. */
export function readForm(request: AdmittedViewRequest): URLSearchParams {
  const type = bodyType(request);
  if (request.body.length === 0) return new URLSearchParams();
  if (type !== 'application/x-www-form-urlencoded') throw new BodyError('unsupported');
  return new URLSearchParams(request.body.toString('utf8'));
}

/** Returns the values of a query parameter, which can be repeated and separated by commas; undefined without it. */
export function listParameter({ search }: ViewRequest, name: string): readonly string[] | undefined {
  const values = new URLSearchParams(search).getAll(name);
  return values.length === 0 ? undefined : values.flatMap(value => value.split(','));
}

/** Reports whether the response is to be XML: the client prefers it to JSON. */
export function prefersXml(request: ViewRequest): boolean {
  const ranges = new Map<string, number>();
  for (const part of (request.header('accept') ?? '').toLowerCase().split(',')) {
    const [range = '', ...parameters] = part.split(';').map(text => text.trim());
    const q = Number(parameters.find(text => text.startsWith('q='))?.slice(2) ?? 1);
    if (!ranges.has(range)) ranges.set(range, Number.isNaN(q) ? 1 : q);
  }
  const quality = (...names: readonly string[]) => {
    const name = names.find(one => ranges.has(one));
    return name === undefined ? 0 : ranges.get(name)!;
  };
  const xml = quality(...xmlTypes);
  const json = quality('application/json', 'application/*', '*/*');
  if (xml !== json) return xml > json;
  const order = [...ranges.keys()];
  return (
    xml > 0 && order.findIndex(range => xmlTypes.includes(range)) < order.findIndex(range => /json|\*/.test(range))
  );
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
 * @throws {BodyError}
 */
export function readUpload(request: AdmittedViewRequest): UploadForm {
  const boundary = boundaryOf(request.header('content-type') ?? '');
  if (boundary === undefined) throw new BodyError('unsupported');
  const delimiter = Buffer.from(`--${boundary}`);
  const fields = new Map<string, string>();
  let file: UploadedFile | undefined;
  let textBytes = 0;
  for (const part of partsOf(request.body, delimiter)) {
    const { name = '', fileName, content } = readPart(part);
    textBytes += fileName === undefined ? part.length : part.length - content.length;
    if (textBytes > TEXT_BYTES_MAX) throw new BodyError('malformed');
    if (fileName === undefined) fields.set(name, content.toString('utf8'));
    else if (name === 'file') file ??= { name: fileName, bytes: content.length };
  }
  return { fields, file };
}

function readPart(part: Buffer) {
  const end = part.indexOf('\r\n\r\n');
  if (end < 0) throw new BodyError('malformed');
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
  if (first < 0) throw new BodyError('malformed');
  const next = Buffer.concat([Buffer.from('\r\n'), delimiter]);
  for (let from = first + delimiter.length; body.toString('latin1', from, from + 2) !== '--'; ) {
    const end = body.indexOf(next, from);
    if (end < 0 || parts.length === PARTS_MAX) throw new BodyError('malformed');
    parts.push(body.subarray(from + 2, end));
    from = end + next.length;
  }
  return parts;
}
