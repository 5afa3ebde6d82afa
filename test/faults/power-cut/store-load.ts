/**
 * A process that serves a store: adds animals, holds and orders them under idempotency keys, many at once and the same
 * few, and notes what it was told in the record: the id of what was made, and its key.
 *
 * Usage: node store-load.ts DIRECTORY REQUESTS, where REQUESTS is how many are sent.
 */
import { openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { withIdempotency } from '../../../src/access/idempotency/idempotency.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { Problem } from '../../../src/lib/http/problem.ts';
import { openSqlite } from '../../../src/lib/storage/sqlite/database.ts';
import { migrations } from '../../../src/model/migrations/index.ts';
import type { Transaction } from '../../../src/model/schema.ts';
import { createHold } from '../../../src/store/holds/holds.ts';
import { placeOrder } from '../../../src/store/orders/orders.ts';
import { cancelOrder } from '../../../src/store/orders/steps.ts';
import { createPet } from '../../../src/store/pets/pets.ts';

const [directory, requests] = process.argv.slice(2) as [string, string];
const notes = openSync(join(directory, '.notes'), 'a');
const note = (value: object) => writeSync(notes, `${JSON.stringify(value)}\n`);

const database = await openSqlite({
  file: join(directory, 'production.db'),
  migrations,
  clock: systemClock(),
  role: 'server',
  log: { info() {}, warn: console.error, error: console.error },
  checkpointBytes: 192 * 1024,
});

const caller = { accountId: 1, admin: false, plan: 'enterprise' };
let left = Number(requests);
let lastPet = 0;

/** Does a request as a route does it; what was made is noted once it is answered. */
async function ask(kind: string, work: (tx: Transaction) => Promise<{ readonly id: number }>): Promise<number> {
  const key = `${kind}-${process.pid}-${left--}`;
  const request = { operation: kind, path: {}, query: {}, body: { key } };
  const call = {
    ...request,
    context: { name: 'production', database, bounds: {} },
    caller,
    headers: { 'idempotency-key': key },
  };
  let made = 0;
  await withIdempotency(call as never, async tx => {
    const { id } = await work(tx);
    made = id;
    return { status: 201, body: { id } };
  });
  note({ rows: [[made, key]] });
  return made;
}

async function call(): Promise<void> {
  while (left > 0) {
    const dice = Math.random();
    try {
      const petId = Math.max(1, lastPet - Math.floor(Math.random() * 12));
      if (dice < 0.3 || lastPet === 0) {
        lastPet = await ask('pet', tx => createPet(tx, 1, { name: 'Minka', categoryId: 2 }, 'open'));
      } else if (dice < 0.6) await ask('hold', tx => createHold(tx, caller, { petIds: [petId] }, 1_000_000));
      else {
        const orderId = await ask('order', tx => placeOrder(tx, caller, { petId }));
        if (dice > 0.9) await database.write(tx => cancelOrder(tx, caller, orderId, {}));
      }
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
    }
    await pause(Math.random() * 10);
  }
}

await Promise.all(Array.from({ length: 32 }, call));
await database.close();
