import { type ClassicShape, type Item, type MemberType, MismatchError } from './shapes.ts';

/** An element: its children, or its text. */
interface XmlElement {
  readonly name: string;
  readonly children: XmlElement[];
  text: string;
}

/** More than the deepest document has: a list, a pet, its tags, a tag and its name. */
const DEPTH_MAX = 8;

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', apos: "'", quot: '"' };

/** The next piece of markup; a piece that matches none of these is an error. */
const MARKUP =
  /<!--(?:(?!--).)*-->|<!\[CDATA\[(?<data>.*?)\]\]>|<\/(?<end>[\w:.-]+)\s*>|<(?<start>[A-Za-z_][\w:.-]*)(?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*\s*(?<empty>\/?)>|(?<text>[^<]+)/gsy;

/**
 * Parses an XML document in linear time. Ignores attributes. Rejects document types, processing instructions, and
 * entities other than the five of XML.
 * @throws {SyntaxError}
 */
function parseXml(text: string): XmlElement {
  const root: XmlElement = { name: '', children: [], text: '' };
  const open = [root];
  const body = text.replace(/^\uFEFF?\s*(?:<\?xml\s[^?<>]*\?>)?/, '');
  let end = 0;
  for (const match of body.matchAll(MARKUP)) {
    end = match.index + match[0].length;
    addMarkup(open, match.groups as Markup);
  }
  const [element] = root.children;
  if (end !== body.length || open.length !== 1 || root.children.length !== 1 || root.text.trim() !== '') {
    throw new SyntaxError();
  }
  return element!;
}

type Markup = Readonly<Partial<Record<'data' | 'end' | 'start' | 'empty' | 'text', string>>>;

function addMarkup(open: XmlElement[], { data, end, start, empty, text }: Markup): void {
  const parent = open.at(-1)!;
  if (start !== undefined) {
    const element: XmlElement = { name: localName(start), children: [], text: '' };
    parent.children.push(element);
    if (empty !== '') return;
    open.push(element);
    if (open.length > DEPTH_MAX) throw new SyntaxError();
  } else if (end !== undefined) {
    if (open.length === 1 || parent.name !== localName(end)) throw new SyntaxError();
    open.pop();
  } else if (data !== undefined) parent.text += data;
  else if (text !== undefined) parent.text += decode(text);
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

function decode(text: string): string {
  return text.replace(/&([^;&]{0,10};?)/g, (_, reference: string) => {
    const [, name, decimal, hex] = /^(?:([a-z]+)|#(\d{1,7})|#x([\dA-Fa-f]{1,6}));$/.exec(reference) ?? [];
    if (name !== undefined && Object.hasOwn(entities, name)) return entities[name]!;
    const code = decimal !== undefined ? Number(decimal) : hex !== undefined ? Number.parseInt(hex, 16) : 0;
    if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) throw new SyntaxError();
    return String.fromCodePoint(code);
  });
}

/**
 * Returns the object that an XML document of a shape contains, with texts as members.
 * @throws {SyntaxError} if it is not XML
 */
export function parseItem(shape: ClassicShape, text: string): Item {
  return itemOf(shape, parseXml(text));
}

/** Returns the objects that an XML list contains. @throws {SyntaxError} */
export function parseItems(shape: ClassicShape, text: string): Item[] {
  return parseXml(text).children.map(child => itemOf(shape, child));
}

function itemOf({ members }: ClassicShape, { children, text }: XmlElement): Item {
  if (text.trim() !== '') throw new MismatchError();
  const item: Item = {};
  for (const child of children) {
    if (Object.hasOwn(members, child.name)) item[child.name] = memberOf(members[child.name]!, child);
  }
  return item;
}

function memberOf(type: MemberType, element: XmlElement): unknown {
  if (typeof type === 'string') {
    if (element.children.length > 0) throw new MismatchError();
    return element.text;
  }
  if ('members' in type) return itemOf(type, element);
  return element.children.map(child => memberOf(type.items, child));
}

/** How to write XML. */
export interface XmlFormat {
  formatDate(date: Date): string;
  /** Whether members are sorted by name, as JAXB does. */
  readonly sorted: boolean;
}

const DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';

/** Returns an object, or a list below `root`, as an XML document. */
export function formatXml(shape: ClassicShape, value: Item | readonly Item[], root: string, format: XmlFormat): string {
  if (!Array.isArray(value)) return DECLARATION + elementOf(shape, value as Item, root, format);
  return `${DECLARATION}<${root}>${value.map(one => elementOf(shape, one, shape.name, format)).join('')}</${root}>`;
}

function elementOf({ members }: ClassicShape, item: Item, name: string, format: XmlFormat): string {
  let content = '';
  const names = Object.keys(members);
  for (const member of format.sorted ? names.sort() : names) {
    const value = item[member];
    if (value !== undefined && value !== null) content += memberText(members[member]!, value, member, format);
  }
  return `<${name}>${content}</${name}>`;
}

function memberText(type: MemberType, value: unknown, name: string, format: XmlFormat): string {
  if (typeof type === 'string') {
    return `<${name}>${escapeXml(value instanceof Date ? format.formatDate(value) : String(value))}</${name}>`;
  }
  if ('members' in type) return elementOf(type, value as Item, name, format);
  const items = (value as readonly unknown[]).filter(one => one !== null);
  return `<${name}>${items.map(one => memberText(type.items, one, type.item, format)).join('')}</${name}>`;
}

/** Escapes a text. Characters that XML cannot contain become U+FFFD. */
function escapeXml(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replace(/[&<>\r]/g, character => escapes[character]!);
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#13;' };
