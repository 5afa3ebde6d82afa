import type { FullPet, PetRow } from '../pets/pet.ts';
import type { Database } from '../schema.ts';
import type { CommandOutput } from './command.ts';
import { priceText } from './money.ts';
import { historyTable, readHistory, removedPrinted } from './pet-history.ts';
import { statusText } from './pet-list.ts';
import { readId, storeCommand } from './store-command.ts';
import { list, shown } from './terminal.ts';

/** What stands behind the name of a command on one animal. */
export const petArgument = { ID: 'The animal, as `petstore pet list` shows it.' };

/** `petstore pet show` */
export const command = storeCommand({
  name: 'pet show',
  sentence: 'Shows an animal, and what it is kept for.',
  arguments: petArgument,
  options: { history: { sentence: 'With all that happened to it, also where it was taken out of the store.' } },
  examples: [
    { line: 'petstore pet show 7', sentence: 'how it is now' },
    { line: 'petstore pet show 7 --history', sentence: 'how it came to that' },
  ],
  read: ({ arguments: { ID }, options }) => ({ id: readId('ID', ID!), past: options['history'] !== undefined }),
  async work({ database, now }, { id, past }) {
    const { getPet } = await import('../pets/pets.ts');
    const present = async () => petPrinted(await getPet(database, id, now), await whatKeeps(database, id, now));
    if (!past) return present();
    // The history first: an animal that is taken out meanwhile still has one.
    const history = await readHistory(database, id, now);
    if (history.at(-1)?.type === 'deleted') return removedPrinted(id, history);
    const pet = await present();
    return {
      value: { ...(pet.value as FullPet), history },
      text: style => `${pet.text(style)}\n\n${historyTable(style, history)}`,
    };
  },
});

/** The hold or the order that keeps an animal, and its end where it has one. */
interface KeptFor {
  readonly holdId?: number;
  readonly orderId?: number;
  readonly until?: string;
}

/** An animal as a command tells it. */
export async function petPrinted(row: PetRow, keptFor?: KeptFor): Promise<CommandOutput> {
  const { petValues } = await import('../pets/rows.ts');
  const pet = petValues.fullOf(row);
  return { value: { ...pet, ...(keptFor && { keptFor }) }, text: () => petText(pet, keptFor) };
}

function petText(pet: FullPet, keptFor: KeptFor | undefined): string {
  return list([
    ['animal', String(pet.id)],
    ['name', shown(pet.name)],
    ['category', String(pet.categoryId)],
    ['status', shown(statusText(pet))],
    ...(keptFor === undefined ? [] : [['kept for', keptText(keptFor)] as const]),
    ...(pet.price === undefined ? [] : [['price', priceText(pet.price)] as const]),
    ['account', String(pet.accountId)],
    ['added', pet.createdAt],
    ['updated', pet.updatedAt],
  ]);
}

function keptText({ holdId, orderId, until }: KeptFor): string {
  const what = holdId === undefined ? `order ${orderId}` : `hold ${holdId}`;
  return until === undefined ? what : `${what} until ${until}`;
}

/** What keeps an animal; `undefined` where nothing does. */
async function whatKeeps(database: Database, id: number, now: number): Promise<KeptFor | undefined> {
  const [{ reservationOf }, { formatTime }] = await Promise.all([
    import('../pets/reservations.ts'),
    import('../lib/time.ts'),
  ]);
  const reservation = await reservationOf(database, id);
  if (reservation === undefined) return undefined;
  const { holdId, orderId, until } = reservation;
  if (until !== null && until <= now) return undefined;
  return {
    ...(holdId !== null && { holdId }),
    ...(orderId !== null && { orderId }),
    ...(until !== null && { until: formatTime(until) }),
  };
}
