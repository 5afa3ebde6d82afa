import { readFileSync } from 'node:fs';
import type { NewPet } from '../pets/pet.ts';

/** What the sample animals of one look have in common. */
export interface Kind {
  /** The name of its photo, in `photos/`. */
  readonly photo: string;
  /** What the photo shows. */
  readonly alt: string;
  /** The breeds, of which each animal has one; `mix` after a breed for mixed ones. */
  readonly breeds: readonly string[];
  readonly colors: NonNullable<NewPet['colors']>;
  readonly pattern?: string;
  readonly coat?: NonNullable<NewPet['coat']>;
  readonly size: NonNullable<NewPet['size']>;
  /** From and to, in the unit. */
  readonly weight: readonly [number, number, 'kg' | 'g'];
  /** The names of its animals, where they say what it is; other animals have the kinds without names. */
  readonly names?: readonly string[];
}

/** The kinds of each built-in category, in the order of `kinds.txt`. */
export const kinds = Map.groupBy(
  readFileSync(new URL('kinds.txt', import.meta.url), 'utf8')
    .split('\n')
    .filter(line => /^\d/.test(line))
    .map(kindIn),
  ({ categoryId }) => categoryId,
) as ReadonlyMap<number, readonly Kind[]>;

function kindIn(line: string): Kind & { readonly categoryId: number } {
  const cells = line.split('|').map(cell => cell.trim());
  const [category, photo, alt, breeds, colors, size, weight, coat, pattern, names] = cells as Cells;
  const [primary, secondary, tertiary] = colors.split(', ');
  const [, from, to, unit] = /^(\d+)-(\d+) (kg|g)$/.exec(weight)!;
  return {
    categoryId: Number(category),
    photo,
    alt: `A drawing of a ${alt}.`,
    breeds: breeds.split(', '),
    colors: { primary: primary!, ...(secondary && { secondary }), ...(tertiary && { tertiary }) },
    size: size as Kind['size'],
    weight: [Number(from), Number(to), unit as 'kg' | 'g'],
    ...(coat && { coat: coat as Kind['coat'] & string }),
    ...(pattern && { pattern }),
    ...(names && { names: names.split(', ') }),
  };
}

type Cells = [string, string, string, string, string, string, string, string?, string?, string?];
