import { type Html, html, rawHtml } from '../lib/html/html.ts';

/** The preview of a page on other sites, when its address is shared. */
export interface ShareCard {
  /** The absolute URL of the page, without query parameters that a visitor has chosen. */
  readonly url: string;
  readonly title: string;
  readonly description: string;
  readonly image?: { readonly url: string; readonly alt: string; readonly width: number; readonly height: number };
}

/** Returns the elements of the head for a share card (Open Graph, and Twitter's additions). */
export function shareTags({ url, title, description, image }: ShareCard): Html {
  const properties = {
    'og:site_name': 'Pet Store',
    'og:type': 'website',
    'og:url': url,
    'og:title': title,
    'og:description': description,
    ...(image && {
      'og:image': image.url,
      'og:image:alt': image.alt,
      'og:image:width': image.width,
      'og:image:height': image.height,
    }),
  };
  return html`<link rel="canonical" href="${url}">
${Object.entries(properties).map(([name, value]) => html`<meta property="${name}" content="${value}">\n`)}<meta name="twitter:card" content="${image === undefined ? 'summary' : 'summary_large_image'}">
`;
}

/**
 * Returns a description for search engines in the vocabulary of schema.org. It is data that browsers do not run, so the
 * policy of the page allows it. Text in it cannot end the element.
 */
export function structuredData(data: Readonly<Record<string, unknown>>): Html {
  const json = JSON.stringify({ '@context': 'https://schema.org', ...data });
  const escaped = json.replaceAll(
    /[<>&\u2028\u2029]/g,
    text => `\\u${text.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return rawHtml(`<script type="application/ld+json">${escaped}</script>\n`);
}
