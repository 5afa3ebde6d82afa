import { type Html, html } from '../../lib/html/html.ts';
import { countText } from '../../lib/text.ts';
import type { FacetCounts } from '../facets.ts';
import { traitChoices } from '../traits.ts';
import { type Choice, DEFAULTS, distances, pathOf, pathWithTrait } from './choice.ts';
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

/** Returns the place and the traits that are chosen, each with a link that removes it. */
export function chosenFilters(choice: Choice): Html | undefined {
  const { near, within, traits } = choice;
  const place = near !== '' && {
    path: pathOf(choice, { near: '', within: DEFAULTS.within }),
    text: html`Within ${distances[within as keyof typeof distances]} of <bdi>${near}</bdi>`,
  };
  const chosen = Object.entries(traits).flatMap(([name, values]) =>
    values.map(value => {
      const others = values.filter(one => one !== value);
      return { path: pathWithTrait(choice, name, others), text: traitText(name, value) };
    }),
  );
  const chips = place === false ? chosen : [place, ...chosen];
  if (chips.length === 0) return undefined;
  return html`<ul class="chosen" aria-label="Chosen filters">${chips.map(
    ({ path, text }) =>
      html`<li><a href="${path}" rel="nofollow"><span><span class="sr-only">Remove</span> ${text}</span></a></li>`,
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
