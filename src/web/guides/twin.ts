import type { Visit } from '../page.ts';
import { withRealAddresses } from './addresses.ts';
import type { Catalog } from './catalog.ts';
import type { Guide } from './guide.ts';
import { addressOf } from './links.ts';

/** Returns a guide as Markdown: the file of the documentation, with addresses and links that work from anywhere. */
export function markdownOf(visit: Visit, catalog: Catalog, { entry, source }: Guide): string {
  const { publicUrl } = visit.request;
  const linked = outsideCode(source.replace(/^<!--.*-->\s*/, ''), text =>
    text.replaceAll(/\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g, (whole, label: string, href: string) => {
      if (href.startsWith('#')) return whole;
      const address = addressOf(catalog, entry.file, href);
      if (address === undefined) return label;
      return `[${label}](${address.startsWith('/') ? publicUrl + twinOf(address) : address})`;
    }),
  );
  return entry.isLocal ? linked : withRealAddresses(linked, visit);
}

/** Returns the path of the Markdown twin of a page, or the path itself if the page has none. */
export function twinOf(address: string): string {
  return address.replace(/^(\/guides\/[\w/-]+|\/reference(?:\/\w+)?)/, '$1.md');
}

/** Changes the text of Markdown but not its code blocks. */
function outsideCode(markdown: string, change: (text: string) => string): string {
  return markdown
    .split(/(^```.*?^```$)/ms)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join('');
}
