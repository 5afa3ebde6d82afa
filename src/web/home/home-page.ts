import { nowOf } from '../../access/deployment.ts';
import { type Html, type HtmlValue, html } from '../../lib/html/html.ts';
import { boundedText } from '../../lib/text.ts';
import { DAY_MS, dayOf, parseDate } from '../../lib/time.ts';
import { IMPORTS_KEPT } from '../../model/rules.ts';
import type { ImportRow } from '../../store/imports/import.ts';
import { listImports } from '../../store/imports/imports.ts';
import { countUnread } from '../../store/inbox/list.ts';
import { countWaitingOrders } from '../../store/orders/waiting-orders.ts';
import { findOrganization } from '../../store/organizations/organizations.ts';
import { type PetAttention, petAttention, type WaitingPet } from '../../store/pets/attention.ts';
import { countOwned } from '../../store/pets/counts.ts';
import { doneNotice } from '../forms.ts';
import { listPage } from '../lists.ts';
import { type AccountVisit, accountPage } from '../page.ts';
import { ANIMALS_PATH, HOME_PATH, IMPORTS_PATH, MESSAGES_PATH, ORDERS_PATH, ORGANIZATION_PATH } from '../paths.ts';
import { beginLinks } from '../pets/parts.ts';

/** What needs attention in a shelter today, and how to begin in a new one. */
export const homePage = accountPage({
  path: HOME_PATH,
  permission: 'read',
  title: 'Home',
  menu: 'desk',
  async show(visit) {
    const home = await readHome(visit);
    const steps = stepsOf(home);
    const begin = visit.may('organization') && !steps.every(({ isDone }) => isDone) && steps;
    const add = visit.may('animals') && beginLinks;
    const body =
      home.animals === 0
        ? html`${begin ? beginView(begin, 'How to begin') : add}
${visit.may('developers') && DEVELOPERS}
${tasksView(tasksOf(home), begin ? undefined : NOTHING)}`
        : html`${add}
<div class="home">${tasksView(tasksOf(home), NOTHING)}${waitingView(home)}</div>
${begin && beginView(begin, 'What is left to set up')}`;
    return {
      description: 'What needs attention today.',
      styles: ['home.css'],
      body: html`${doneNotice(visit, doneTexts)}${body}`,
    };
  },
});

const doneTexts = { confirmed: 'Your e-mail address is confirmed.' } as const;
const DEVELOPERS = html`<p class="quiet">Do you build an app or a site with the API? <a href="/keys/new">Create an API key</a>, and follow the <a href="/guides/quickstart">quickstart</a>.</p>`;
const NOTHING = 'Nothing waits for you at the moment.';

/** The maximum that is counted, one more than pages show. */
const COUNT_MAX = 100;

type Home = Awaited<ReturnType<typeof readHome>>;

async function readHome(visit: AccountVisit) {
  const { deployment, account } = visit;
  const { database } = deployment;
  const now = nowOf(deployment);
  const { request } = listPage(visit);
  const [animals, organization, pets, orders, messages, imports] = await Promise.all([
    countOwned(database, account.id),
    findOrganization(database, account.id),
    petAttention(database, account.id, { now, until: now + DAY_MS }, request),
    countWaitingOrders(database, account.id, now, COUNT_MAX),
    countUnread(database, account.id),
    listImports(database, account.id, { limit: IMPORTS_KEPT }),
  ]);
  return { now, animals, isPublished: organization !== undefined, pets, orders, messages, imports: imports.rows };
}

/** Something to do: a number of things, and the list that shows them. */
interface Task {
  readonly count: number;
  /** Whether there may be more than `count`. */
  readonly isPartial?: boolean;
  readonly one: string;
  readonly many: string;
  readonly href: string;
}

function tasksOf({ pets, orders, messages, imports }: Home): Task[] {
  const { isPartial } = pets;
  const last = imports.find(({ dry_run, ended_at }) => dry_run === 0 && ended_at !== null);
  const tasks: Task[] = [
    {
      ...{ count: messages, href: `${MESSAGES_PATH}?show=unread` },
      ...{ one: 'message to read', many: 'messages to read' },
    },
    { count: orders.toApprove, one: 'order to approve', many: 'orders to approve', href: ORDERS_PATH },
    { count: orders.toHandOver, one: 'order to hand over', many: 'orders to hand over', href: ORDERS_PATH },
    {
      ...{ count: pets.holdEnds, isPartial, href: ORDERS_PATH },
      ...{ one: 'animal whose hold ends within a day', many: 'animals whose hold ends within a day' },
    },
    ...(last === undefined ? [] : [importTask(last)]),
    {
      ...{ count: pets.withoutPhoto, isPartial, href: `${ANIMALS_PATH}?show=no-photo` },
      ...{ one: 'animal without a photo', many: 'animals without a photo' },
    },
    {
      ...{ count: pets.withoutDescription, isPartial, href: `${ANIMALS_PATH}?show=no-description` },
      ...{ one: 'animal without a description', many: 'animals without a description' },
    },
  ];
  return tasks.filter(({ count }) => count > 0);
}

/** Returns the errors of the latest import; an import that failed as a whole counts as one. */
function importTask({ id, state, failed }: ImportRow): Task {
  const href = `${IMPORTS_PATH}/${id}`;
  if (state === 'failed') return { count: 1, one: 'import that failed', many: '', href };
  return { count: failed, one: 'error in your last import', many: 'errors in your last import', href };
}

function tasksView(tasks: readonly Task[], empty?: string): Html | undefined {
  if (tasks.length === 0 && empty === undefined) return undefined;
  return html`<section aria-labelledby="today"><h2 id="today">Today</h2>
${
  tasks.length === 0
    ? html`<p class="empty">${empty}</p>`
    : html`<ul class="tasks" data-rows>${tasks.map(
        ({ count, isPartial, one, many, href }) =>
          html`<li><a href="${href}"><b>${shown(count, isPartial)}</b> ${count === 1 && !isPartial ? one : many}</a></li>\n`,
      )}</ul>`
}</section>`;
}

function shown(count: number, isPartial = false): string {
  return isPartial && count < COUNT_MAX ? `${count}+` : boundedText(count, COUNT_MAX);
}

function waitingView({ now, pets }: { readonly now: number; readonly pets: PetAttention }): Html | undefined {
  if (pets.longest.length === 0) return undefined;
  return html`<section aria-labelledby="longest"><h2 id="longest">Waiting longest</h2>
<ul class="waiting" data-rows>${pets.longest.map(
    pet =>
      html`<li><a href="${ANIMALS_PATH}/${pet.id}"><bdi>${pet.name}</bdi></a> <span class="quiet">${daysText(pet, now)}</span></li>\n`,
  )}</ul>
<p><a href="${ANIMALS_PATH}?show=waiting&amp;sort=longest">All animals that wait</a></p></section>`;
}

function daysText({ since }: WaitingPet, now: number): string {
  const days = Math.max(0, dayOf(now) - dayOf(parseDate(since) ?? now));
  if (days === 0) return 'since today';
  return days === 1 ? '1 day' : `${days} days`;
}

/** A step by which a new shelter begins. */
interface Step {
  readonly isDone: boolean;
  readonly title: string;
  readonly about: string;
  readonly action: HtmlValue;
}

function stepsOf({ animals, isPublished, pets }: Home): Step[] {
  return [
    {
      isDone: isPublished,
      title: 'Publish your organization',
      about: 'People see its address, its hours and how to adopt beside your animals.',
      action: html`<a class="button secondary" href="${ORGANIZATION_PATH}">Fill in the profile</a>`,
    },
    {
      isDone: animals > 0,
      title: 'Bring in your animals',
      about:
        'Add the first one by hand, or import the list that you have: a spreadsheet, or an export of your shelter software.',
      action: beginLinks,
    },
    {
      isDone: pets.withPhoto > 0,
      title: 'Add photos',
      about: 'Choose an animal, and add its photos from your phone or your computer.',
      action:
        animals > 0 && html`<a class="button secondary" href="${ANIMALS_PATH}?show=no-photo">Choose an animal</a>`,
    },
  ];
}

function beginView(steps: readonly Step[], title: string): Html {
  return html`<section aria-labelledby="begin"><h2 id="begin">${title}</h2>
<ol class="steps">${steps.map(
    ({ isDone, title, about, action }) =>
      html`<li${isDone && html` class="done"`}><h3>${title}${isDone && html` <span class="badge good">Done</span>`}</h3>${
        !isDone && html`<p class="quiet">${about}</p>${action}`
      }</li>\n`,
  )}</ol></section>`;
}
