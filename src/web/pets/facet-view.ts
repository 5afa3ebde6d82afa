import { type Html, html } from '../../lib/html/html.ts';
import { countText } from '../../lib/text.ts';
import type { FacetCounts } from '../../store/pets/facets.ts';
import { traitChoices } from '../../store/profile/traits.ts';
import { DEFAULTS, distances, pathOf, pathWithTrait, type SearchChoice } from './choice.ts';
import { traitNames, traitText, valueName } from './trait-names.ts';

/** The maximum number of animals that are counted one by one for a page: those of one turn of a scan. */
export const FACET_ROWS_MAX = 2000;

/** A line of the filters: a value of a trait. */
interface Line {
  readonly name: string;
  readonly value: string;
  readonly label: string;
}

/** The filters in groups. */
const offered: readonly { readonly id: string; readonly title: string; readonly lines: readonly Line[] }[] = groupsOf();

/** Returns the filters by traits, each with the number of animals that have it; `undefined` if no animal has any. */
export function facetsView(choice: SearchChoice, { facets, exact }: FacetCounts): Html | undefined {
  const groups = offered
    .map(({ lines, ...group }) => {
      const left = lines.filter(({ name, value }) => facets[name]?.[value] && !choice.traits[name]?.includes(value));
      return { ...group, lines: left };
    })
    .filter(({ lines }) => lines.length > 0);
  if (groups.length === 0) return undefined;
  return html`<details class="facets"><summary>Filters</summary>
<nav aria-label="Filters">${groups.map(
    ({ id, title, lines }) => html`<p class="facet" id="${id}">${title}</p>
<ul aria-labelledby="${id}">${lines.map(
      ({ name, value, label }) =>
        html`<li><a href="${pathWithTrait(choice, name, [value])}" rel="nofollow">${label} <span class="count">${countText(facets[name]![value]!)}${!exact && '+'}</span></a></li>`,
    )}</ul>
`,
  )}${!exact && html`<p class="hint">Only the first ${countText(FACET_ROWS_MAX)} animals are counted.</p>`}</nav>
</details>`;
}

/** Returns the chosen place and traits, each with a link that removes it. */
export function chosenFilters(choice: SearchChoice): Html | undefined {
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

function groupsOf() {
  const known = ['age', 'sex', 'size', 'coat'].map(name => ({
    title: traitNames[name]!,
    lines: traitChoices[name]!.filter(value => value !== 'unknown').map(value => ({
      ...{ name, value },
      label: valueName(value),
    })),
  }));
  // For traits with three answers, visitors filter by yes.
  const answers = Object.keys(traitNames)
    .filter(name => traitChoices[name]!.includes('no') && name !== 'declawed')
    .map(name => ({ name, value: 'yes', label: traitNames[name]! }));
  const [company = [], others = []] = [true, false].map(isCompany =>
    answers.filter(({ name }) => name.startsWith('goodWith') === isCompany),
  );
  return [...known, { title: 'Good with', lines: company }, { title: 'Training and health', lines: others }].map(
    group => ({ ...group, id: `facet-${group.title.toLowerCase().replaceAll(' ', '-')}` }),
  );
}
