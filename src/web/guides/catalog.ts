import { readFile } from 'node:fs/promises';
import { plainText } from '../../lib/html/markdown.ts';
import { memoize } from '../../lib/one-per.ts';
import { type GuideImages, getImages } from './images.ts';

const docs = new URL('../../../docs/', import.meta.url);

/** A line of the list of guides. */
interface Entry {
  /** The file below `docs/`. */
  readonly file: string;
  readonly title: string;
  /** The topic of the guide, in one line. */
  readonly summary: string;
  /** Its path on the site. */
  readonly path: string;
}

/** A page of `docs/` that the site serves. The API reference is an entry but not a page of `docs/`. */
export interface GuideEntry extends Entry {
  /** The last one or two segments of its path. */
  readonly name: string;
  /** Whether the guide is about the reader's own server, so that its addresses are not replaced. */
  readonly isLocal: boolean;
}

/** Guides by the task that they help with. */
interface Group {
  readonly title: string;
  readonly entries: readonly (Entry | GuideEntry)[];
}

/** Every guide, in the order in which people read them. */
export interface Catalog {
  readonly groups: readonly Group[];
  readonly guides: readonly GuideEntry[];
  readonly images: GuideImages;
}

const REFERENCE = 'reference.md';
/** Guides whose commands start a server and use its sample data. */
const localGuides: readonly string[] = ['tutorial.md', 'shelter.md', 'receive-webhooks.md'];

/** Returns the catalog: the tables of `docs/README.md`, and the images. */
export const getCatalog = memoize(readCatalog);

/** Returns the text of a page of `docs/`. */
export function readDocs(file: string): Promise<string> {
  return readFile(new URL(file, docs), 'utf8');
}

async function readCatalog(): Promise<Catalog> {
  const [, ...parts] = (await readDocs('README.md')).split(/^## /m);
  const groups = await Promise.all(parts.map(groupOf));
  const filled = groups.filter(({ entries }) => entries.length > 0);
  const guides = filled.flatMap(({ entries }) => entries.filter(isGuide));
  return { groups: filled, guides, images: await getImages() };
}

async function groupOf(part: string): Promise<Group> {
  const rows = [...part.matchAll(/^\| \[([^\]]+)\]\(([\w/-]+\.md)\) \| (.*) \|$/gm)];
  return {
    title: part.slice(0, part.indexOf('\n')),
    entries: await Promise.all(
      rows.map(async ([, title, file, summary]) => entryOf(file!, title!, await plainText(summary!))),
    ),
  };
}

function entryOf(file: string, title: string, summary: string): Entry | GuideEntry {
  if (file === REFERENCE) return { file, title, summary, path: '/reference' };
  const name = file.replace(/\.md$/, '');
  const isLocal = localGuides.includes(file) || file.startsWith('operating/');
  return { file, title, summary, path: `/guides/${name}`, name, isLocal };
}

function isGuide(entry: Entry | GuideEntry): entry is GuideEntry {
  return 'name' in entry;
}
