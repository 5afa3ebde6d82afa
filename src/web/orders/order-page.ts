import { nowOf } from '../../access/deployment.ts';
import { etagOf } from '../../lib/etag.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { BodyReader } from '../../lib/http/server/validation.ts';
import { NOTE_LENGTH_MAX } from '../../lib/text.ts';
import { UserError } from '../../lib/user-error.ts';
import { NewOrderReturn, type OrderStatus, orderSteps, petIdsOf, type StepName } from '../../model/order.ts';
import { getOrder } from '../../store/orders/orders.ts';
import { type OrderWithSteps, orderOf } from '../../store/orders/rows.ts';
import { approveOrder, cancelOrder, deliverOrder, returnOrder, type TakeStep } from '../../store/orders/steps.ts';
import { formPage } from '../form-page.ts';
import { checkOf, choices, doneNotice, enteredText, form, textArea } from '../forms.ts';
import { found } from '../found.ts';
import { idOf } from '../lists.ts';
import { type AccountVisit, ownActor, type View } from '../page.ts';
import { facts } from '../parts.ts';
import { ORDERS_PATH } from '../paths.ts';
import { petLinks, petsNamed } from '../pets/names.ts';
import { priceText } from '../pets/parts.ts';
import { readChecked } from '../schema-form.ts';
import { stateOf } from './list-page.ts';
import { partiesNamed } from './parties.ts';

/** A step of an order in words: its button, what it means, and the text about a step that was taken. */
interface Step {
  readonly take: TakeStep;
  readonly label: string;
  readonly meaning: string;
  readonly taken: string;
}

const steps: Readonly<Record<StepName, Step>> = {
  approval: {
    take: approveOrder,
    label: 'Approve',
    meaning: 'The animals stay reserved until they are handed over; the order no longer expires.',
    taken: 'Approved',
  },
  delivery: {
    take: deliverOrder,
    label: 'Hand over',
    meaning: 'The animals have moved to their new home. They are shown as sold.',
    taken: 'Handed over',
  },
  cancellation: {
    take: cancelOrder,
    label: 'Cancel',
    meaning: 'The animals are available to others again.',
    taken: 'Cancelled',
  },
  return: {
    take: returnOrder,
    label: 'Take back',
    meaning: 'The animals have come back.',
    taken: 'Returned',
  },
};
const stepNames = Object.keys(steps) as StepName[];

/** An order with its history, and the steps that the account can take. */
export const orderPage = formPage({
  path: `${ORDERS_PATH}/{orderId}`,
  permission: 'orders',
  shownFor: 'read',
  title: 'Order',
  find: visibleOrder,
  view: orderView,
  async change(visit, { id }) {
    const { deployment, origin, form: sent } = visit;
    const name = stepNames.find(one => one === sent.get('step'));
    if (name === undefined) throw new UserError('Choose a step.');
    const note = enteredText(visit, 'note');
    const entries = { ...(note !== '' && { note }), ...(name === 'return' && { ready: sent.get('ready') === 'yes' }) };
    const { take } = steps[name];
    const body = readChecked<NewOrderReturn>(orderReturn, entries);
    await deployment.database.write(tx => take(tx, ownActor(visit), id, body, checkOf(visit, 'order')), origin);
    return `${ORDERS_PATH}/${id}?done=${name}`;
  },
});

/** The body of a return has the members of every step. */
const orderReturn = new BodyReader(NewOrderReturn);

async function visibleOrder(visit: AccountVisit): Promise<OrderWithSteps | undefined> {
  const id = idOf(visit.parameters['orderId']);
  const { deployment } = visit;
  return id === undefined ? undefined : found(getOrder(deployment.database, ownActor(visit), id, nowOf(deployment)));
}

async function orderView(visit: AccountVisit, order: OrderWithSteps, error?: string): Promise<View> {
  const { id, accountId, ownerId, note, createdAt } = order;
  const { price } = orderOf(order, ownActor(visit));
  const pets = await petsNamed(visit, petIdsOf(order));
  const partyOf = await partiesNamed(visit, [accountId, ownerId]);
  const isOwner = ownerId === visit.account.id;
  const possible = stepNames.filter(name => {
    const { from, byPlacer } = orderSteps[name];
    return (from as readonly OrderStatus[]).includes(order.status as OrderStatus) && (isOwner || byPlacer);
  });
  const done = Object.fromEntries(stepNames.map(name => [name, `${steps[name].taken}.`]));
  return {
    title: `Order ${id}`,
    errors: { '': error },
    body: html`${doneNotice(visit, done)}
${facts([
  ['Animals', petLinks(petIdsOf(order), pets)],
  ['State', stateOf(order)],
  ['Ordered by', partyOf(accountId)],
  ['Owner', partyOf(ownerId)],
  ['Fee', price && priceText(price)],
])}
<h2>History</h2>
<ol>
<li>Ordered, ${timeHtml(createdAt)}${noteView(note ?? undefined)}</li>
${stepNames.map(name => {
  const taken = order.steps[name];
  return taken && html`<li>${steps[name].taken}, ${timeHtml(taken.at)}${noteView(taken.note)}</li>`;
})}
</ol>
${possible.length > 0 && html`<h2>What is next</h2>${stepForm(visit, order, possible)}`}
<p><a href="${ORDERS_PATH}">Holds and orders</a></p>`,
  };
}

function noteView(note: string | undefined): Html | undefined {
  return note === undefined ? undefined : html`<blockquote class="card message" dir="auto">${note}</blockquote>`;
}

function stepForm(visit: AccountVisit, order: OrderWithSteps, possible: readonly StepName[]): Html {
  const sent = visit.form.get('step');
  const fields = html`<input type="hidden" name="etag" value="${etagOf(order)}">
${choices('radio', {
  name: 'step',
  label: 'Next step',
  choices: possible.map(value => ({
    value,
    label: steps[value].label,
    hint: steps[value].meaning,
    checked: value === (sent ?? possible[0]),
  })),
})}
${
  possible.includes('return') &&
  choices('checkbox', {
    name: 'ready',
    label: 'After the return',
    choices: [{ value: 'yes', label: 'Available to others at once', checked: true }],
  })
}
${textArea({ name: 'note', label: 'Note', value: visit.form.get('note'), optional: true, maxLength: NOTE_LENGTH_MAX })}
<p class="hint">The other party reads the note, too.</p>`;
  return form(visit, { action: `${ORDERS_PATH}/${order.id}`, submit: 'Save' }, fields);
}
