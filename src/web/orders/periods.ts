import type { Html } from '../../lib/html/html.ts';
import { DAY_MS, HOUR_MS } from '../../lib/time.ts';
import { choicesOf, select } from '../forms.ts';

/** The periods from now for which an animal can be held, in milliseconds. */
export const periods: Readonly<Record<string, number>> = {
  'an hour': HOUR_MS,
  'a day': DAY_MS,
  '3 days': 3 * DAY_MS,
  'a week': 7 * DAY_MS,
};

/** Returns the field for a period. @param chosen the period that is selected; a day if it is none */
export function periodField(label: string, chosen: string | null): Html {
  const labels = Object.fromEntries(Object.keys(periods).map(name => [name, name]));
  return select({ name: 'period', label, choices: choicesOf(labels, chosen ?? 'a day') });
}
