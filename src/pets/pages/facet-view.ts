import { type Html, html } from '../../lib/html/html.ts';
import { countText } from '../../lib/text.ts';
import type { FacetCounts } from '../facets.ts';
import { traitChoices } from '../traits.ts';
import { type Choice, pathWithTrait } from './choice.ts';
import { traitNames, traitText, valueName } from './trait-names.ts';

/** The most animals that are counted one by one for a page: those of one turn of a scan. */
export const FACET_ROWS_MAX = 2000;

/** One line of the filters: a value of a trait with the number of its animals. */
interface Line {
  readonly name: string;
  readonly value: string;
  readonly label: string;
  readonly count: number;
}

/** Returns the filters by traits, each with the number of animals that have it; nothing if no animal has any. */
export function facetsView(choice: Choice, { facets, exact }: FacetCounts): Html | undefined {
  const groups = groupsOf(choice, facets);
  if (groups.length === 0) return undefined;
  return html`<details class="facets"><summary>Filters</summary>
<nav aria-label="Filters">${groups.map(
    ({ title, lines }) => html`<p class="facet" id="facet-${title.toLowerCase().replaceAll(' ', '-')}">${title}</p>
<ul aria-labelledby="facet-${title.toLowerCase().replaceAll(' ', '-')}">${lines.map(
      ({ name, value, label, count }) =>
        html`<li><a href="${pathWithTrait(choice, name, [value])}" rel="nofollow">${label} <span class="count">${countText(count)}${!exact && '+'}</span></a></li>`,
    )}</ul>
`,
  )}${!exact && html`<p class="hint">Only the first ${countText(FACET_ROWS_MAX)} animals are counted.</p>`}</nav>
</details>`;
}

/** Returns the traits that are chosen, each with a link that removes it. */
export function chosenTraits(choice: Choice): Html | undefined {
  const chosen = Object.entries(choice.traits).flatMap(([name, values]) => values.map(value => ({ name, value })));
  if (chosen.length === 0) return undefined;
  return html`<ul class="chosen" aria-label="Chosen filters">${chosen.map(
    ({ name, value }) =>
      html`<li><a href="${pathWithTrait(
        choice,
        name,
        choice.traits[name]!.filter(one => one !== value),
      )}" rel="nofollow"><span class="sr-only">Remove</span> ${traitText(name, value)}</a></li>`,
  )}</ul>`;
}

function groupsOf(choice: Choice, facets: FacetCounts['facets']) {
  const known = (name: string) => ({
    title: traitNames[name]!,
    lines: traitChoices[name]!.filter(value => value !== 'unknown').map(value =>
      lineOf(facets, name, value, valueName(value)),
    ),
  });
  // Of three answers, visitors look for a yes.
  const answers = Object.keys(traitNames).filter(name => traitChoices[name]!.includes('no') && name !== 'declawed');
  const yes = (title: string, isOf: (name: string) => boolean) => ({
    title,
    lines: answers.filter(isOf).map(name => lineOf(facets, name, 'yes', traitNames[name]!)),
  });
  return [
    ...['age', 'sex', 'size', 'coat'].map(known),
    yes('Good with', name => name.startsWith('goodWith')),
    yes('Training and health', name => !name.startsWith('goodWith')),
  ]
    .map(({ title, lines }) => ({
      title,
      lines: lines.filter(({ name, value, count }) => count > 0 && !choice.traits[name]?.includes(value)),
    }))
    .filter(({ lines }) => lines.length > 0);
}

function lineOf(facets: FacetCounts['facets'], name: string, value: string, label: string): Line {
  return { name, value, label, count: facets[name]?.[value] ?? 0 };
}
