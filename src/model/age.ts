import { DAY_MS } from '../lib/time.ts';
import { type Static, Type } from '../lib/type.ts';

/** The age at which each stage of life ends: the stages that shelter software uses for all species. */
const BABY_MONTHS = 6;
const YOUNG_YEARS = 2;
const ADULT_YEARS = 9;

/** The stage of life of an animal. */
export const Age = Type.Enum(['baby', 'young', 'adult', 'senior'], {
  title: 'Age',
  description:
    `The stage of life. Where it is left out, it follows from \`birthDate\`: \`baby\` up to ${BABY_MONTHS} months, \`young\` up to ${YOUNG_YEARS} years, ` +
    `\`adult\` up to ${ADULT_YEARS} years, then \`senior\`. Set it for species that age faster or more slowly.`,
});
export type Age = Static<typeof Age>;

/**
 * Returns the stage of life of an animal that was born at `birthDate`, in milliseconds since the Unix epoch, as of
 * `now`.
 */
export function ageAt(birthDate: number, now: number): Age {
  return ages.find(({ upTo }) => now < birthDate + upTo)?.age ?? 'senior';
}

const YEAR_MS = 365.25 * DAY_MS;
/** The age at which each stage ends. */
export const ages: readonly { readonly age: Age; readonly upTo: number }[] = [
  { age: 'baby', upTo: (BABY_MONTHS / 12) * YEAR_MS },
  { age: 'young', upTo: YOUNG_YEARS * YEAR_MS },
  { age: 'adult', upTo: ADULT_YEARS * YEAR_MS },
];
