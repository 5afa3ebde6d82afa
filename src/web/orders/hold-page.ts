import { nowOf } from '../../access/deployment.ts';
import { etagOf } from '../../lib/etag.ts';
import { html, timeHtml } from '../../lib/html/html.ts';
import { formatTime } from '../../lib/time.ts';
import type { HoldRow } from '../../model/hold.ts';
import { extendHold, getHold, releaseHold } from '../../store/holds/holds.ts';
import { checkOf, doneNotice, form, formError } from '../forms.ts';
import { found } from '../found.ts';
import { idOf } from '../lists.ts';
import { type AccountVisit, accountPage, ownActor, type View } from '../page.ts';
import { badge, facts } from '../parts.ts';
import { petLinks, petsNamed } from '../pets/names.ts';
import { PATH } from './list-page.ts';
import { partiesNamed } from './parties.ts';
import { periodField, periods } from './periods.ts';

const statuses = {
  active: badge('warn', 'On hold'),
  released: badge('', 'Released'),
  used: badge('good', 'Ordered'),
  expired: badge('', 'Expired'),
} as const;

const doneTexts = { extended: 'The hold ends later.', released: 'The hold has ended.' } as const;

/** A hold, and the forms to extend it and to end it. */
export const holdPage = accountPage({
  path: '/shelter/holds/{holdId}',
  permission: 'orders',
  shownFor: 'read',
  title: 'Hold',
  parent: PATH,
  async show(visit) {
    const hold = await visibleHold(visit);
    return hold && holdView(visit, hold);
  },
  async submit(visit) {
    const hold = await visibleHold(visit);
    if (hold === undefined) return undefined;
    const { deployment, origin, form: sent } = visit;
    const actor = ownActor(visit);
    const check = checkOf(visit, 'hold');
    const name = sent.get('period');
    if (name !== null && !Object.hasOwn(periods, name)) return holdView(visit, hold, 'Choose a period.');
    const period = name === null ? undefined : periods[name]!;
    try {
      await deployment.database.write(
        tx =>
          period === undefined
            ? releaseHold(tx, actor, hold.id, check)
            : extendHold(tx, actor, hold.id, { expiresAt: formatTime(tx.now + period) }, check),
        origin,
      );
      return { location: `/shelter/holds/${hold.id}?done=${period === undefined ? 'released' : 'extended'}` };
    } catch (error) {
      const message = formError(error);
      return holdView(visit, (await visibleHold(visit)) ?? hold, message);
    }
  },
});

async function visibleHold(visit: AccountVisit): Promise<HoldRow | undefined> {
  const id = idOf(visit.parameters['holdId']);
  const { deployment } = visit;
  return id === undefined ? undefined : found(getHold(deployment.database, ownActor(visit), id, nowOf(deployment)));
}

async function holdView(visit: AccountVisit, hold: HoldRow, error?: string): Promise<View> {
  const { id, status, note, createdAt, expiresAt, endedAt } = hold;
  const pets = await petsNamed(visit, hold.petIds);
  const partyOf = await partiesNamed(visit, [hold.accountId]);
  const action = `/shelter/holds/${id}`;
  const etag = html`<input type="hidden" name="etag" value="${etagOf(hold)}">`;
  const isActive = status === 'active';
  return {
    title: `Hold ${id}`,
    errors: { '': error },
    body: html`${doneNotice(visit, doneTexts)}
${facts([
  ['Animals', petLinks(hold.petIds, pets)],
  ['State', statuses[status]],
  ['By', partyOf(hold.accountId)],
  ['Since', timeHtml(createdAt)],
  [isActive ? 'Until' : 'Ended', timeHtml(endedAt ?? expiresAt)],
  ['Note', note === null ? undefined : html`<bdi>${note}</bdi>`],
])}
${
  isActive &&
  hold.accountId === visit.account.id &&
  html`<h2>Extend</h2>
${form(
  visit,
  { action, submit: 'Extend the hold' },
  html`${etag}
${periodField('From now', visit.form.get('period'))}`,
)}`
}
${
  isActive &&
  html`<h2>Release</h2>
<p>The animals are available to others again.</p>
${form(visit, { action, submit: 'End the hold', secondary: true }, etag)}`
}
<p><a href="${PATH}">Holds and orders</a></p>`,
  };
}
