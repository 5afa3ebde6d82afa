import { html } from '../../lib/html/html.ts';
import { BodyReader } from '../../lib/http/server/validation.ts';
import { NOTE_LENGTH_MAX } from '../../lib/text.ts';
import { formatTime } from '../../lib/time.ts';
import { UserError } from '../../lib/user-error.ts';
import { NewHold } from '../../model/hold.ts';
import { NewOrder } from '../../model/order.ts';
import type { FullPet } from '../../model/pet.ts';
import { boundOf } from '../../model/plan.ts';
import type { Transaction } from '../../model/schema.ts';
import { createHold } from '../../store/holds/holds.ts';
import { placeOrder } from '../../store/orders/orders.ts';
import { approveOrder, deliverOrder } from '../../store/orders/steps.ts';
import { withBonds } from '../../store/pets/groups.ts';
import { formPage } from '../form-page.ts';
import { choices, enteredText, form, notice, textArea } from '../forms.ts';
import { changeOnce, onceField } from '../once.ts';
import { type AccountVisit, ownActor, type View } from '../page.ts';
import { ANIMALS_PATH, HOLDS_PATH, ORDERS_PATH } from '../paths.ts';
import { ownPet } from '../pets/form-pages.ts';
import { petLinks, petsNamed } from '../pets/names.ts';
import { readChecked } from '../schema-form.ts';
import { periodField, periods } from './periods.ts';

const newHold = new BodyReader(NewHold);
const newOrder = new BodyReader(NewOrder);

/** Puts an animal on hold, or gives it to someone; a bonded group together. */
export const reservePage = formPage({
  path: `${ANIMALS_PATH}/{petId}/reservation`,
  permission: 'orders',
  title: 'Hold or hand over',
  find: reservable,
  view: reserveView,
  async change(visit, pet) {
    const { form: sent } = visit;
    const purpose = sent.get('purpose') ?? '';
    if (!Object.hasOwn(purposes, purpose)) throw new UserError('Choose what to do.');
    const note = enteredText(visit, `${purpose}Note`);
    const ids = idsOf(pet);
    const named = { ...(ids.length === 1 ? { petId: pet.id } : { petIds: ids }), ...(note !== '' && { note }) };
    const texts = Object.fromEntries([...sent].filter(([name]) => name !== 'token'));
    const reserve = purposes[purpose as Purpose];
    const { location } = await changeOnce(visit, `reserve ${pet.id}`, texts, tx => reserve(visit, tx, named));
    return location!;
  },
});

type Purpose = 'hold' | 'order';

/** What to do with an animal. Each returns the path of the page of the hold or the order. */
const purposes: Readonly<Record<Purpose, (visit: AccountVisit, tx: Transaction, named: object) => Promise<string>>> = {
  async hold(visit, tx, named) {
    const { account, deployment, form: sent } = visit;
    const name = sent.get('period') ?? '';
    const period = Object.hasOwn(periods, name) && { expiresAt: formatTime(tx.now + periods[name]!) };
    const body = readChecked<NewHold>(newHold, { ...named, ...period });
    const { id } = await createHold(tx, ownActor(visit), body, boundOf(deployment.bounds, account, 'heldPets'));
    return `${HOLDS_PATH}/${id}`;
  },
  async order(visit, tx, named) {
    const { account, deployment, form: sent } = visit;
    const actor = ownActor(visit);
    const body = readChecked<NewOrder>(newOrder, named);
    const { id } = await placeOrder(tx, actor, body, boundOf(deployment.bounds, account, 'openOrders'));
    await approveOrder(tx, actor, id, {});
    if (sent.get('handOver') === 'now') await deliverOrder(tx, actor, id, {});
    return `${ORDERS_PATH}/${id}`;
  },
};

/** Returns the animal with its whole bonded group. */
async function reservable(visit: AccountVisit): Promise<FullPet | undefined> {
  const pet = await ownPet(visit);
  return pet && (await withBonds(visit.deployment.database, [pet]))[0]!;
}

function idsOf({ id, group }: FullPet): readonly number[] {
  return group?.kind === 'bonded' ? (group.petIds ?? [id]) : [id];
}

const leavingNow = {
  value: 'now',
  label: 'They are leaving now',
  hint: 'Otherwise the order waits under “Holds and orders” until you hand over.',
} as const;

async function reserveView(visit: AccountVisit, pet: FullPet, error?: string): Promise<View> {
  const ids = idsOf(pet);
  const { form: sent } = visit;
  const action = `${ANIMALS_PATH}/${pet.id}/reservation`;
  const pets = ids.length > 1 ? await petsNamed(visit, ids) : undefined;
  const purpose = (value: Purpose) => html`${onceField(visit)}<input type="hidden" name="purpose" value="${value}">`;
  const note = (name: string, label: string) =>
    textArea({ name, label, value: sent.get(name), optional: true, maxLength: NOTE_LENGTH_MAX, rows: 3 });
  return {
    title: `Hold or hand over ${pet.name}`,
    errors: { '': error },
    body: html`<p><a href="${ANIMALS_PATH}/${pet.id}"><bdi>${pet.name}</bdi></a></p>
${pets !== undefined && notice('status', html`A bonded group stays together: ${petLinks(ids, pets)}.`)}
<h2>Put on hold</h2>
<p>Nobody else can reserve ${ids.length > 1 ? 'them' : html`<bdi>${pet.name}</bdi>`} during the hold.</p>
${form(visit, { action, submit: 'Put on hold' }, [
  purpose('hold'),
  periodField('How long', sent.get('period')),
  note('holdNote', 'For whom, and why'),
])}
<h2>Someone takes ${ids.length > 1 ? 'them' : html`<bdi>${pet.name}</bdi>`} home</h2>
${form(visit, { action, submit: 'Save' }, [
  purpose('order'),
  choices('checkbox', {
    name: 'handOver',
    label: 'When',
    choices: [{ ...leavingNow, checked: sent.get('handOver') === 'now' }],
  }),
  note('orderNote', 'Who takes them'),
])}`,
  };
}
