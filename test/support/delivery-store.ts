import { randomBytes } from 'node:crypto';
import { createAccount } from '../../src/access/accounts/accounts.ts';
import { deliveryJob } from '../../src/events/deliveries/delivery-job.ts';
import { dispatch } from '../../src/events/deliveries/dispatch-job.ts';
import type { DisabledWebhook } from '../../src/events/deliveries/record-result.ts';
import { ownerOf } from '../../src/events/webhooks/secrets.ts';
import { testClock } from '../../src/lib/clock.ts';
import { createEncryptor } from '../../src/lib/encryption.ts';
import { openOutgoingClient } from '../../src/lib/http/client/client.ts';
import { assignPositions, lastPosition } from '../../src/model/log/ordering.ts';
import { type Database, type DeploymentName, type Params, query, type Transaction } from '../../src/model/schema.ts';
import { createPet, updatePet } from '../../src/store/pets/pets.ts';
import type { Engine } from './engines.ts';
import { type Receiver, startReceiver } from './receiver.ts';

export const START = Date.parse('2026-11-21T12:00:00Z');
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const DAY = 86_400_000;
export const owner = { accountId: 1, admin: false };
export const buyer = { accountId: 2, admin: false };
export const never = new AbortController().signal;
export const encryptor = createEncryptor(Buffer.alloc(32, 7));
export const schedule = [5 * SECOND, 5 * MINUTE];

export const deliveriesOf = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('deliveries').selectAll().where('webhook_id', '=', p.id).orderBy('id'),
);
export const deliveriesMade = query(db =>
  db
    .selectFrom('deliveries')
    .select(({ fn }) => fn.countAll<number>().as('deliveries'))
    .groupBy('webhook_id'),
);
export const bound = (of: Transaction, name: string | symbol) => {
  const value = Reflect.get(of, name, of);
  return typeof value === 'function' ? value.bind(of) : value;
};
export const attemptsOf = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('delivery_attempts').selectAll().where('delivery_id', '=', p.id).orderBy('number'),
);
export const webhookById = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('webhooks').selectAll().where('id', '=', p.id),
);
type NewHook = Record<'url' | 'scopes', string> & Record<'types' | 'categories' | 'keyId', string | null>;
export const insertWebhook = query((db, p: Params<NewHook & Record<'accountId' | 'position' | 'now', number>>) =>
  db
    .insertInto('webhooks')
    .values({
      account_id: p.accountId,
      url: p.url,
      types: p.types,
      category_ids: p.categories,
      status: 'active',
      key_id: p.keyId,
      scopes: p.scopes,
      behind_place: p.position,
      created_at: p.now,
      updated_at: p.now,
    })
    .returning('id'),
);
export const leadTo = query((db, p: Params<{ id: number; url: string }>) =>
  db.updateTable('webhooks').set({ url: p.url }).where('id', '=', p.id),
);
export const insertSecret = query((db, p: Params<{ id: number; secret: string; now: number; until: number | null }>) =>
  db
    .insertInto('webhook_secrets')
    .values({ webhook_id: p.id, secret: p.secret, created_at: p.now, expires_at: p.until }),
);

export const failSince = query((db, p: Params<{ id: number; at: number }>) =>
  db.updateTable('webhooks').set({ failing_since: p.at }).where('id', '=', p.id),
);
export const spoilSecret = query((db, p: Params<{ id: number }>) =>
  db.updateTable('webhook_secrets').set({ secret: '1.AAAA.AAAA.AAAA' }).where('webhook_id', '=', p.id),
);

const finishOldest = query((db, p: Params<{ id: number; count: number }>) =>
  db
    .updateTable('deliveries')
    .set({ status: 'delivered', due_at: null })
    .where('id', 'in', ({ selectFrom }) =>
      selectFrom('deliveries')
        .select('id')
        .where('webhook_id', '=', p.id)
        .where('status', '=', 'pending')
        .orderBy('id')
        .limit(p.count),
    ),
);
const subtract = query((db, p: Params<{ id: number; count: number }>) =>
  db
    .updateTable('webhooks')
    .set(eb => ({ pending: eb('pending', '-', p.count) }))
    .where('id', '=', p.id),
);
/** Finishes the oldest pending deliveries to a webhook, as recording results does. */
export async function finish(database: Database, id: number, count: number) {
  await database.write(async tx => {
    await tx.run(subtract, { id, count: await tx.run(finishOldest, { id, count }) });
  });
}

/** Opens a database with accounts, a receiver and a delivery job, with a clock that stands still. */
export async function withDeliveryStore(
  engine: Engine,
  work: (store: Awaited<ReturnType<typeof openStore>>) => Promise<void>,
  deployment: DeploymentName = 'production',
) {
  const store = await openStore(engine, deployment);
  try {
    await work(store);
  } finally {
    await store.outgoing.close();
    await store.receiver.close();
  }
}

async function openStore(engine: Engine, deployment: DeploymentName) {
  const clock = testClock(START);
  const database = await engine.open({ clock });
  const accounts = deployment === 'production' ? database : await engine.open({ clock });
  await accounts.write(async tx => {
    for (const email of ['ada', 'bob', 'eve']) await createAccount(tx, { email: `${email}@example.org`, name: 'x' });
    await createAccount(tx, { email: 'root@example.org', name: 'x', admin: true });
  });
  const receiver = await startReceiver();
  const wall = { aheadMs: 0 };
  const now = () => clock.now() + wall.aheadMs;
  const outgoing = openOutgoingClient({ networks: ['127.0.0.0/8'] }, { timeoutMs: 60_000, now });
  const disabled: DisabledWebhook[] = [];
  const deps = {
    database,
    accounts,
    outgoing,
    encryptor,
    scheduleMs: schedule,
    async onDisabled(_: unknown, webhook: DisabledWebhook) {
      disabled.push(webhook);
    },
    now: () => clock.now(),
  };
  const worker = deliveryJob(deps);

  /** Inserts an active webhook. */
  async function webhook(
    more: {
      accountId?: number;
      types?: string[];
      categoryIds?: number[];
      to?: Receiver;
      keyId?: string;
      scopes?: string;
    } = {},
  ): Promise<{ id: number; secret: Buffer }> {
    await assignPositions(database);
    const position = await lastPosition(database);
    const secret = randomBytes(32);
    const { id } = await database.write(async tx => {
      const row = (await tx.first(insertWebhook, {
        accountId: more.accountId ?? 1,
        url: (more.to ?? receiver).url,
        types: more.types ? JSON.stringify(more.types) : null,
        categories: more.categoryIds ? JSON.stringify(more.categoryIds) : null,
        keyId: more.keyId ?? null,
        scopes: more.scopes ?? '*',
        position,
        now: tx.now,
      }))!;
      await tx.run(insertSecret, {
        id: row.id,
        secret: encryptor.encrypt(secret, ownerOf(row.id)),
        now: tx.now,
        until: null,
      });
      return row;
    });
    return { id, secret };
  }

  /** Dispatches and delivers everything that is due. */
  async function deliver(by = worker) {
    while ((await dispatch(database, accounts)) > 0);
    for (;;) {
      const { jobs } = await by.claim(256);
      if (jobs.length === 0) return;
      await Promise.all(jobs.map(job => by.run(job, never)));
    }
  }

  const types = () => receiver.received.map(({ body }) => JSON.parse(body).type as string);
  const pet = (name = 'Minka', categoryId = 2) =>
    database.write(tx => createPet(tx, 1, { name, categoryId }, 'open')).then(({ id }) => id);
  const rename = (id: number, name: string) =>
    database.write(tx => updatePet(tx, owner, id, { name }, 'open')).then(() => undefined);
  const names = () => receiver.received.map(({ body }) => JSON.parse(body).data.name as string);
  return {
    clock,
    wall,
    database,
    accounts,
    receiver,
    outgoing,
    disabled,
    deps,
    worker,
    webhook,
    deliver,
    types,
    pet,
    rename,
    names,
  };
}

export const failWith = (status: number, headers: Record<string, string> = {}) => {
  const answer: Receiver['respond'] = (_, response) => response.writeHead(status, headers).end('no');
  return answer;
};
export const succeed: Receiver['respond'] = (_, response) => response.writeHead(200).end('thanks');
