import { Problem } from '../lib/http/problem.ts';
import { UserError } from '../lib/user-error.ts';
import type { NewOrder } from '../orders/order.ts';
import { orderPrinted } from './order-show.ts';
import { noteOption } from './order-step.ts';
import { readBody, readId, type Store, storeCommand } from './store-command.ts';

/** `petstore order place` */
export const command = storeCommand({
  name: 'order place',
  sentence: 'Orders an animal for an account, at the animal’s price of this moment.',
  details: 'The order waits seven days for its approval; the animal is pending meanwhile.',
  options: {
    account: { sentence: 'For whom; see `petstore account list`.', value: 'ID', required: true },
    pet: { sentence: 'The animal.', value: 'ID', required: true },
    hold: { sentence: 'The account’s hold that the animal is in, where it is on hold for it.', value: 'ID' },
    note: noteOption,
  },
  examples: [
    { line: 'petstore order place --account 2 --pet 7 --note "by telephone"', sentence: 'for someone who called' },
  ],
  async read({ options: { account, pet, hold, note } }) {
    const { NewOrder } = await import('../orders/order.ts');
    const order = await readBody<NewOrder>(NewOrder, {
      petId: readId('--pet', pet!),
      ...(hold !== undefined && { holdId: readId('--hold', hold) }),
      ...(note !== undefined && { note }),
    });
    return { accountId: readId('--account', account!), order };
  },
  async work(store, { accountId, order }) {
    await store.requireAccount(accountId);
    const { placeOrder } = await import('../orders/orders.ts');
    try {
      return orderPrinted(await store.database.write(tx => placeOrder(tx, { accountId, admin: false }, order)));
    } catch (error) {
      throw (await ownHold(store, accountId, order, error)) ?? error;
    }
  },
});

/** The refusal of an animal that the account itself has on hold, in the words of the command line. */
async function ownHold(
  { database, now }: Store,
  accountId: number,
  { petId, holdId }: NewOrder,
  error: unknown,
): Promise<UserError | undefined> {
  if (!(error instanceof Problem) || error.code !== 'pet_reserved' || holdId !== undefined) return undefined;
  const [{ listHolds }, { operator }] = await Promise.all([import('../holds/list.ts'), import('../events/event.ts')]);
  const { rows } = await listHolds(database, operator, { status: ['active'], petId }, 1, undefined, now);
  const hold = rows.find(row => row.accountId === accountId);
  if (hold === undefined) return undefined;
  return new UserError(
    `The animal ${petId} is on hold for account ${accountId}; order it from there with --hold ${hold.id}.`,
  );
}
