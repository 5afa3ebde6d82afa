import { decimalsOf } from '../../lib/currency.ts';
import { type Html, html } from '../../lib/html/html.ts';
import type { FullPet, PetStatus, Price } from '../../model/pet.ts';
import type { NamedCategory } from '../../store/categories/paths.ts';
import { badge, drawingOf } from '../parts.ts';
import { ANIMALS_PATH, IMPORTS_PATH } from '../paths.ts';
import { photoView } from '../photos/photo-view.ts';

/** The name of a status on pages. */
export const statusNames: Readonly<Record<PetStatus, string>> = {
  available: 'Available',
  pending: 'Reserved',
  sold: 'Sold',
};

export const statusBadges: Readonly<Record<PetStatus, Html>> = {
  available: badge('good', statusNames.available),
  pending: badge('warn', statusNames.pending),
  sold: badge('', statusNames.sold),
};

/** The drawings, by the slug of the category or of an ancestor. */
const drawings: Readonly<Record<string, Html>> = {
  dog: drawingOf('dog'),
  cat: drawingOf('cat'),
  rabbit: drawingOf('rabbit'),
  'small-furry': drawingOf('hamster'),
  horse: drawingOf('horse'),
  bird: drawingOf('bird'),
  'scales-fins-other': drawingOf('fish'),
  barnyard: drawingOf('pig'),
};
/** The drawing of an animal whose category has none. */
export const otherDrawing = drawingOf('other');

/**
 * Returns a drawing that replaces a missing photo.
 * @param path the category with its ancestors, the top level first
 */
export function drawing(path: readonly Pick<NamedCategory, 'slug'>[] = []): Html {
  return path.map(({ slug }) => drawings[slug]).findLast(found => found !== undefined) ?? otherDrawing;
}

/** Returns the main photo of an animal; the drawing of its category if it has none. */
export function picture(
  { name, photos = [] }: Pick<FullPet, 'name' | 'photos'>,
  drawn: Html,
  loading: 'eager' | 'lazy' = 'lazy',
): Html {
  const [main] = photos;
  return main === undefined ? drawn : photoView(name, main, 600, loading, 'picture photo');
}

/** Returns a price as people read it: `€125.00`. Unknown currencies have two decimals. */
export function priceText({ amount, currency }: Price): string {
  if (priceFormats.size > PRICE_FORMATS_MAX) priceFormats.clear();
  const { format, unit } = priceFormats.getOrInsertComputed(currency, () => ({
    format: new Intl.NumberFormat('en', { style: 'currency', currency }),
    unit: 10 ** decimalsOf(currency),
  }));
  return format.format(amount / unit);
}

/** Creating a format takes longer than a card. */
const priceFormats = new Map<string, { readonly format: Intl.NumberFormat; readonly unit: number }>();
const PRICE_FORMATS_MAX = 100;

/** Links to the two ways to list animals. */
export const beginLinks = html`<p><a class="button" href="${ANIMALS_PATH}/new">Add an animal</a> <a class="button secondary" href="${IMPORTS_PATH}">Import a file</a></p>`;

/** The content of a page of the list when there are no animals at all, in the style of `animals.css`. */
export const noAnimalsView = html`<div class="lost">${drawingOf('dog')}
<div>
<p class="lead">There are no animals here yet.</p>
<p>Add the first one by hand, or import the list that you have: a spreadsheet, or an export of your shelter software.</p>
${beginLinks}
</div>
</div>`;
