import type { PetValues } from './columns.ts';
import { type DerivedColumn, dateOf } from './derived.ts';
import { isNothing } from './read-cells.ts';

/** The status reason of an animal that was found and waits for its owner. */
const FOUND = 'found';

/**
 * Columns of adoption sites that do not correspond to a single field of a pet. Columns without `parse` are not
 * imported.
 */
export const siteColumns: Readonly<Record<string, DerivedColumn>> = {
  /** The site requires the column, but pets have no data for it. */
  empty: { print: () => '' },
  statusWithFound: {
    print: pet => (isFound(pet) ? FOUND : String(pet['status'])),
    parse(cell, { pet }) {
      if (cell !== FOUND) return { status: cell || null };
      return pet !== undefined && isFound(pet) ? {} : { status: 'pending', statusReason: FOUND };
    },
  },
  /** Petfinder shows the fee only if this is `1`, and shows a fee of 0 as waived only if the next column is `1`. */
  feeIsShown: { print: ({ price }) => (amountOf(price) > 0 ? '1' : '') },
  feeIsWaived: { print: ({ price }) => (amountOf(price) === 0 ? '1' : '') },
  /** Animals other than dogs and cats. */
  noOthers: { print: pet => (isBadWithFarmAnimals(pet) ? '1' : '') },
  noOthersNote: { print: pet => (isBadWithFarmAnimals(pet) ? 'Farm animals' : '') },
  stray: { print: ({ intake }) => intakeOf(intake).kind ?? '' },
  strayDate: {
    print: ({ intake }) => (intakeOf(intake).kind === 'stray' ? (intakeOf(intake).date ?? '') : ''),
    parse: (cell, context) => (isNothing(cell) ? {} : { intake: { date: dateOf(cell, context), kind: 'stray' } }),
    holds: 'date',
  },
  youTube: {
    print: ({ videos }) => firstYouTube(videos),
    parse(cell, { pet }) {
      const videos = (pet?.['videos'] as readonly string[] | undefined) ?? [];
      return cell === '' || cell === firstYouTube(videos) ? {} : { videos: [cell, ...videos] };
    },
  },
};

/** Reports whether a pending animal was found, according to its status reason. */
function isFound({ status, statusReason }: PetValues): boolean {
  return status === 'pending' && /\b(found|stray)\b/i.test(String(statusReason ?? ''));
}

function amountOf(price: unknown): number {
  return (price as { readonly amount: number } | undefined)?.amount ?? Number.NaN;
}

function isBadWithFarmAnimals({ goodWith }: PetValues): boolean {
  return (goodWith as { readonly farmAnimals?: string } | undefined)?.farmAnimals === 'no';
}

function intakeOf(intake: unknown): { readonly kind?: string; readonly date?: string } {
  return intake ?? {};
}

/** Returns the address of the first video that is on YouTube; '' if none is. */
function firstYouTube(videos: unknown): string {
  return ((videos as readonly string[] | undefined) ?? []).map(youTubeUrl).find(Boolean) ?? '';
}

/** Returns the address of a YouTube video in the form that sites accept; `undefined` if it is not a YouTube video. */
function youTubeUrl(address: string): string | undefined {
  const { hostname, pathname, searchParams } = new URL(address);
  const host = hostname.replace(/^(www|m)\./, '');
  const path = pathname.match(/^\/(?:(?:embed|shorts)\/)?([\w-]{6,20})$/)?.[1];
  const id = host === 'youtu.be' || host === 'youtube.com' ? (searchParams.get('v') ?? path) : undefined;
  return id && /^[\w-]{6,20}$/.test(id) && id !== 'watch' ? `https://www.youtube.com/watch?v=${id}` : undefined;
}
