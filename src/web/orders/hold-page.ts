import { nowOf } from '../../access/deployment.ts';
import { etagOf } from '../../lib/etag.ts';
import { html, timeHtml } from '../../lib/html/html.ts';
import { formatTime } from '../../lib/time.ts';
import { UserError } from '../../lib/user-error.ts';
import type { HoldRow } from '../../model/hold.ts';
import { extendHold, getHold, releaseHold } from '../../store/holds/holds.ts';
import { formPage } from '../form-page.ts';
import { checkOf, doneNotice, form, hidden } from '../forms.ts';
import { found } from '../found.ts';
import { idOf } from '../lists.ts';
import { type AccountVisit, ownActor, type View } from '../page.ts';
import { badge, facts } from '../parts.ts';
import { HOLDS_PATH, ORDERS_PATH } from '../paths.ts';
import { petLinks, petsNamed } from '../pets/names.ts';
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
export const holdPage = formPage({
  path: `${HOLDS_PATH}/{holdId}`,
  permission: 'orders',
  shownFor: 'read',
  title: 'Hold',
  parent: ORDERS_PATH,
  find: visibleHold,
  view: holdView,
  async change(visit, { id }) {
    const { deployment, origin, form: sent } = visit;
    const [actor, check] = [ownActor(visit), checkOf(visit, 'hold')];
    const name = sent.get('period');
    if (name === null) {
      await deployment.database.write(tx => releaseHold(tx, actor, id, check), origin);
      return `${HOLDS_PATH}/${id}?done=released`;
    }
    if (!Object.hasOwn(periods, name)) throw new UserError('Choose a period.');
    const until = (now: number) => ({ expiresAt: formatTime(now + periods[name]!) });
    await deployment.database.write(tx => extendHold(tx, actor, id, until(tx.now), check), origin);
    return `${HOLDS_PATH}/${id}?done=extended`;
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
  const action = `${HOLDS_PATH}/${id}`;
  const etag = hidden('etag', etagOf(hold));
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
${form(visit, { action, submit: 'Extend the hold' }, [etag, periodField('From now', visit.form.get('period'))])}`
}
${
  isActive &&
  html`<h2>Release</h2>
<p>The animals are available to others again.</p>
${form(visit, { action, submit: 'End the hold', secondary: true }, etag)}`
}
<p><a href="${ORDERS_PATH}">Holds and orders</a></p>`,
  };
}
