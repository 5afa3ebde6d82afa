import { dayHtml, type Html, html } from '../../lib/html/html.ts';
import { withoutMarks } from '../../lib/text.ts';
import { DAY_MS } from '../../lib/time.ts';
import type { Organization } from '../../model/organization.ts';
import type { FullPet } from '../../model/pet.ts';
import type { NamedCategory } from '../../store/categories/paths.ts';
import { addressText } from '../../store/organizations/public-data.ts';
import { facts } from '../parts.ts';
import { priceText, statusBadges } from './parts.ts';
import { type Answer, answersOf, breedText, colorText, shortText, traitText, valueName } from './trait-names.ts';

/** The keeper of an animal: its organization, or else the name of its account. */
export interface Keeper {
  readonly organization: Organization | undefined;
  readonly name: string | undefined;
}

/** Returns the summary of an animal: status, price, description and tags. */
export function summaryView(pet: FullPet): Html {
  const { id, name, status, statusReason, price, description, tags = [] } = pet;
  const breed = breedText(pet);
  const short = shortText(pet);
  const intro = breed === undefined ? short : [breed, short.toLowerCase()].filter(Boolean).join(' · ');
  return html`<p class="offer">${statusBadges[status]}${price && html` <span class="price">${priceText(price)}</span>`}${statusReason !== undefined && html` <bdi>${statusReason}</bdi>`} <a class="button" href="/animals/${id}#ask">Ask about <bdi>${name}</bdi></a></p>
${intro !== '' && html`<p class="lead"><bdi>${intro}</bdi></p>`}
${description !== undefined && html`<p class="prose" dir="auto">${description}</p>`}
${tags.length > 0 && html`<ul class="tags" aria-label="Tags">${tags.map(tag => html`<li><bdi>${tag}</bdi></li>`)}</ul>`}`;
}

/** Traits whose answers are neither good nor bad. */
const neutral: ReadonlySet<string> = new Set(['specialNeeds', 'declawed']);

/** Returns the answers of an animal, and one line with the unknown ones. */
export function answersView(pet: FullPet): Html {
  const groups = answersOf(pet);
  const unknown = groups.flatMap(({ answers }) => answers.filter(({ value }) => value === 'unknown'));
  return html`<div class="answer-groups">${groups.map(({ title, answers }) =>
    answerList(
      title,
      answers.filter(answer => !unknown.includes(answer)),
    ),
  )}</div>
${unknown.length > 0 && html`<p class="quiet">Not known yet: ${unknown.map(({ name }) => traitText(name, 'yes').toLowerCase()).join(', ')}.</p>`}`;
}

function answerList(title: string, answers: readonly Answer[]): Html | undefined {
  if (answers.length === 0) return undefined;
  return html`<section><h2>${title}</h2>
<ul class="answers">${answers.map(({ name, label, value }) => html`<li class="${neutral.has(name) ? 'neutral' : value}">${label} <span class="quiet">${value}</span></li>`)}</ul></section>
`;
}

/** Returns the fields of the profile by name. @param path the category with its ancestors */
export function profileFacts(pet: FullPet, path: readonly NamedCategory[], keeper: Keeper, now: number): Html {
  const { energy, group, videos = [], extra = {}, id, createdAt } = pet;
  const text = (value: string | undefined) => value && html`<bdi>${value}</bdi>`;
  return facts([
    ['Category', categoryText(path)],
    ['Breed', text(breedText(pet))],
    ...looks(pet, now),
    ['Pattern', text(pet.pattern)],
    ['Coat', pet.coat && valueName(pet.coat)],
    ['Energy', energy && `${energy} of 5`],
    ['Special needs', text(pet.specialNeedsNotes)],
    ['Group', group && (group.kind === 'bonded' ? bondText(id, group.petIds) : 'Has siblings here')],
    ['Videos', videos.length === 0 ? undefined : videos.map(videoLink)],
    ...Object.entries(extra).map(([name, value]) => [withoutMarks(name), text(value)] as const),
    ['Shelter', keeperText(keeper)],
    ['Here since', dayHtml(new Date(createdAt))],
  ]);
}

/** Returns the age, sex, size, weight and color of an animal as facts. */
export function looks(pet: FullPet, now: number) {
  const { sex, size, weight } = pet;
  const color = colorText(pet);
  return [
    ['Age', ageText(pet, now)],
    ['Sex', sex && valueName(sex)],
    ['Size', size && valueName(size)],
    ['Weight', weight && `${weight.value} ${weight.unit}`],
    ['Color', color && html`<bdi>${color}</bdi>`],
  ] as const;
}

/** Returns links to the animals that an animal is bonded with; `undefined` if there are none. */
function bondText(id: number, petIds: readonly number[] = []): Html | undefined {
  const others = petIds.filter(other => other !== id);
  if (others.length === 0) return undefined;
  return html`Goes together with ${others.map((other, index) => html`${index > 0 && ', '}<a href="/animals/${other}">animal ${other}</a>`)}`;
}

function videoLink(url: string, index: number): Html {
  return html`${index > 0 && ' · '}<a href="${url}" rel="nofollow ugc noopener">Video ${index + 1}</a>`;
}

function keeperText({ organization, name }: Keeper): Html | undefined {
  if (organization === undefined) return name === undefined ? undefined : html`<bdi>${name}</bdi>`;
  const { id, address } = organization;
  return html`<a href="/organizations/${id}"><bdi>${organization.name}</bdi></a>${address && html`<br><bdi class="quiet">${addressText(address)}</bdi>`}`;
}

function categoryText(path: readonly NamedCategory[]): Html {
  return html`${path.map(({ id, name }, index) => html`${index > 0 && ' › '}<a href="/animals?category=${id}"><bdi>${name}</bdi></a>`)}`;
}

/** Returns the age in words: `About 2 years`. Without a date of birth, returns the stage of life. */
export function ageText({ birthDate, birthDatePrecision, age }: FullPet, now: number): string | undefined {
  if (birthDate === undefined) return age && valueName(age);
  const days = Math.floor((now - Date.parse(birthDate)) / DAY_MS);
  const about = birthDatePrecision === 'estimated' ? 'About ' : '';
  const [number, unit] =
    days < 60
      ? [Math.floor(days / 7), 'week']
      : days < 730
        ? [Math.floor(days / 30.44), 'month']
        : [Math.floor(days / 365.25), 'year'];
  return `${about}${number} ${unit}${number === 1 ? '' : 's'}${age === undefined ? '' : ` (${valueName(age).toLowerCase()})`}`;
}
