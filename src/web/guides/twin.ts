import type { Visit } from '../page.ts';
import { withRealAddresses } from './addresses.ts';
import type { Catalog } from './catalog.ts';
import type { Guide } from './guide.ts';
import { addressOf } from './links.ts';

/** Returns a guide as Markdown: the file of the documentation, with public addresses and absolute links. */
export function markdownOf(visit: Visit, catalog: Catalog, { entry, source }: Guide): string {
  const linked = outsideCode(source.replace(/^<!--.*-->\s*/, ''), text =>
    text.replaceAll(/\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g, (whole, label: string, href: string) => {
      if (href.startsWith('#')) return whole;
      const address = addressOf(catalog, entry.file, href);
      if (address === undefined) return label;
      return `[${label}](${visit.markdownUrl(address)})`;
    }),
  );
  return entry.isLocal ? linked : withRealAddresses(linked, visit);
}

/** Changes the text of Markdown except its code blocks. */
function outsideCode(markdown: string, change: (text: string) => string): string {
  return markdown
    .split(/(^```.*?^```$)/ms)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join('');
}
