import type { NamedCategory } from '../../categories/paths.ts';
import { decimalsOf } from '../../lib/currency.ts';
import { type Html, html } from '../../lib/html/html.ts';
import { photoView } from '../../photos/pages/photo-view.ts';
import { badge, drawingOf } from '../../web/parts.ts';
import type { FullPet, PetStatus, Price } from '../pet.ts';

/** The name of a status on pages. */
export const statusNames: Readonly<Record<PetStatus, string>> = {
  available: 'Available',
  pending: 'Reserved',
  sold: 'Sold',
};

const badges = { available: 'good', pending: 'warn', sold: '' } as const;

export function statusBadge(status: PetStatus): Html {
  return badge(badges[status], statusNames[status]);
}

/** The drawings, by the slug of the category or of one above it. */
const drawings: Readonly<Record<string, string>> = {
  dog: 'dog',
  cat: 'cat',
  rabbit: 'rabbit',
  'small-furry': 'hamster',
  horse: 'horse',
  bird: 'bird',
  'scales-fins-other': 'fish',
  barnyard: 'pig',
};

/** Returns a drawing in place of a photo. @param path the category with its ancestors, the top level first */
export function drawing(path: readonly Pick<NamedCategory, 'slug'>[] = []): Html {
  const kind = path.map(({ slug }) => drawings[slug]).findLast(found => found !== undefined) ?? 'other';
  return drawingOf(kind);
}

/** Returns the main photo of an animal; a drawing if it has none. */
export function picture(
  { name, photos = [] }: Pick<FullPet, 'name' | 'photos'>,
  path: readonly Pick<NamedCategory, 'slug'>[] | undefined,
  loading: 'eager' | 'lazy' = 'lazy',
): Html {
  const [main] = photos;
  return main === undefined ? drawing(path) : photoView(name, main, 600, loading, 'picture photo');
}

/** Returns a price as people read it: `€125.00`. Unknown currencies have two digits after the point. */
export function priceText({ amount, currency }: Price): string {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency });
  return format.format(amount / 10 ** decimalsOf(currency));
}

/** The two ways to list animals. */
export const beginLinks = html`<p><a class="button" href="/shelter/animals/new">Add an animal</a> <a class="button secondary" href="/shelter/imports">Import a file</a></p>`;

/** What a page shows that has no animals at all, in the style of `animals.css`. */
export const noAnimalsView = html`<div class="lost">${drawingOf('dog')}
<div>
<p class="lead">There are no animals here yet.</p>
<p>Add the first one by hand, or import the list that you have: a spreadsheet, or an export of your shelter software.</p>
${beginLinks}
</div>
</div>`;
