import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import type { Delivery } from '../../src/model/delivery.ts';
import type { Message } from '../../src/model/message.ts';
import type { PublicEvent } from '../../src/model/public-event.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { long, skipFor } from '../support/selection.ts';
import { newProcessKey, type Process, send, spawnService } from '../support/serving.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { StoreLoad } from '../support/store-load.ts';
import { storedAt, storedIn } from '../support/stored.ts';
import { ValkeyServer, withoutValkeyServer } from '../support/valkey-server.ts';
import { everyItem, MessageLoad, StreamReader, UnreliableReceiver } from './webhooks-load.ts';

/** On PostgreSQL one of two nodes is killed, in turns. */
const NODES = { sqlite: 1, postgres: 2 };
const ROUNDS = long ? { sqlite: 50, postgres: 12 } : { sqlite: 7, postgres: 3 };
/** Concurrent callers of the store on each node, and senders of messages. */
const CALLERS = 8;
const SENDERS = 2;
/** How many e-mails a process sends at the same time. */
const MAILS_IN_PROGRESS = 8;
/** How soon, on the embedded engine, the next process sends what was claimed: leases last longer. */
const AGAIN_MS = 12_000;
const DONE_MS = 120_000;
/** How long to wait for a moment. The claims of the killed node may keep the other one from sending for a while. */
const MOMENT_TIMEOUT_MS = { sqlite: 20_000, postgres: 3000 };

const moments = ['request', 'response', 'mail', 'mailed', 'event', 'any time'] as const;
/** When a receiver gets a request or has accepted it, when a mail server gets an e-mail or has accepted it, or at an event. */
type Moment = (typeof moments)[number];

/** A received e-mail, and how many kills came before it. */
interface Mailed {
  readonly mark: string;
  readonly kills: number;
}

describe('Kills under load, with a receiver that fails at random', {
  concurrency: 2,
}, () => {
  overEachEngine(engine => {
    const rounds = ROUNDS[engine.name];
    const embedded = engine.name === 'sqlite';
    const skip = embedded ? false : skipFor(withoutValkeyServer);

    it(`delivers every event in order, and e-mails every message, after ${rounds} kills`, { skip }, async t => {
      const directory = await mkdtemp(join(tmpdir(), 'petstore-webhooks-kill-'));
      t.after(() => rm(directory, { recursive: true, force: true }));
      const watch = new Watch();
      const receiver = await UnreliableReceiver.start((moment, id) => watch.comes(moment, id));
      t.after(() => receiver.close());
      const mails: Mailed[] = [];
      let kills = 0;
      const smtp = await startSmtpServer();
      t.after(() => smtp.close());
      smtp.behaviour = {
        kept({ text }) {
          mails.push({ mark: text, kills });
          watch.comes('mail', text);
          setImmediate(() => watch.comes('mailed', text));
        },
      };
      const environment: Record<string, string> = {
        ...(await engine.settings()),
        PETSTORE_STAGING_PORT: '',
        PETSTORE_WEBHOOK_NETWORKS: '127.0.0.1',
        PETSTORE_WEBHOOK_SCHEDULE: Array.from({ length: 50 }, () => '1s').join(),
        PETSTORE_SECRET_KEY: randomBytes(32).toString('base64'),
        PETSTORE_SMTP_URL: smtp.url,
        PETSTORE_MAIL_FROM: 'store@example.org',
      };
      if (!embedded) {
        const valkey = await ValkeyServer.start();
        t.after(() => valkey.kill());
        environment['PETSTORE_VALKEY_URL'] = valkey.url;
      }
      const start = async () => {
        const node = await spawnService({ directory, environment });
        t.after(() => node.stop('SIGKILL'));
        return node;
      };
      const nodes: Process[] = [];
      while (nodes.length < NODES[engine.name]) nodes.push(await start());

      const keys: string[] = [];
      while (keys.length < 3) keys.push(await newProcessKey(nodes[0]!));
      const [owner, buyer] = keys as [string, string];
      const admin = await newAdminKey(nodes[0]!);
      const { production } = nodes[0]!.urls;
      const { path, behind } = await newWebhook(production, owner, receiver);
      const reader = new StreamReader(owner, id => watch.comes('event', id));
      t.after(() => reader.stop());
      let down: Process | undefined;
      const reading = reader.read(
        () => pick(nodes.filter(node => nodes.length === 1 || node !== down)).urls.production,
      );
      const petIds: number[] = [];
      for (const name of ['Minka', 'Moritz']) {
        const pet = await send(`${production}/pets`, { method: 'POST', key: owner, body: { name, categoryId: 2 } });
        petIds.push(pet.body.id);
      }

      const store = new StoreLoad(keys, { answerMs: 20_000 });
      const messages = new MessageLoad([owner, buyer], petIds);
      const came: Record<string, number> = {};
      let going = true;
      // The callers of a test that fails stop, too.
      t.after(() => {
        going = false;
      });
      for (let round = 0; round < rounds; round++) {
        const last = round === rounds - 1;
        const victim = round % nodes.length;
        const node = nodes[victim]!;
        going = true;
        const calls = nodes.map(({ urls }, index) => {
          const until = { staysOn: index !== victim };
          return [
            ...Array.from({ length: CALLERS }, () => store.call(urls.production, () => going, until)),
            ...Array.from({ length: SENDERS }, () => messages.call(urls.messages, () => going, until)),
          ];
        });
        const target = store.answered + 100;
        while (store.answered < target) await Promise.race([pause(5), Promise.all(calls.flat())]);
        await pause(Math.random() * 200);

        // The last kill interrupts deliveries and e-mails in progress.
        receiver.silent = last;
        while (embedded && last && receiver.unanswered.size === 0) await pause(1);
        const moment = last ? 'mail' : moments[round % moments.length]!;
        const kill = await watch.next(moment, MOMENT_TIMEOUT_MS[engine.name], () => {
          down = node;
          node.child.kill('SIGKILL');
        });
        came[kill.moment] = (came[kill.moment] ?? 0) + 1;
        assert.equal((await node.stop()).signal, 'SIGKILL');
        await Promise.all(calls[victim]!);
        // Let the receiver read what the node had sent.
        for (let turns = 0; turns < 3; turns++) await turn();
        kills++;
        if (last) receiver.failing = false;
        receiver.silent = false;

        nodes[victim] = await start();
        down = undefined;
        const startedMs = performance.now();
        if (embedded && last) {
          const inProgress = [...receiver.unanswered];
          assert.equal(kill.moment, 'mail');
          for (;;) {
            const mailed = mails.filter(({ mark }) => mark === kill.what).length > 1;
            const left = [...inProgress.filter(id => !receiver.hasAccepted(id)), ...(mailed ? [] : [kill.what])];
            if (left.length === 0) break;
            const ms = performance.now() - startedMs;
            assert.ok(ms < AGAIN_MS, `${left} were in progress at the kill, and are not sent again in time`);
            await pause(10);
          }
        }
        going = false;
        await Promise.all(calls.flat());
        await store.retry(nodes[victim]!.urls.production);
        await messages.retry(nodes[victim]!.urls.messages);
      }

      const { urls } = pick(nodes);
      const fromMs = performance.now();
      const events: PublicEvent[] = [];
      for (;;) {
        const left = await pendingWork();
        if (left === undefined) break;
        assert.ok(performance.now() < fromMs + DONE_MS, `not finished in time: ${left}`);
        await pause(100);
      }
      const doneMs = performance.now() - fromMs;
      reader.stop();
      await reading;

      receiver.assertReceived(events);
      reader.assertReceived(events);
      const deliveries = await everyItem<Delivery>(`${urls.production}${path}/deliveries?limit=100`, owner);
      assertEachDelivered(
        events,
        deliveries.filter(({ type }) => type !== 'webhook.test'),
      );
      const sent = (await Promise.all([owner, buyer].map(key => box(key, 'sent')))).flat();
      const got = (await Promise.all([owner, admin].map(key => box(key, 'inbox')))).flat();
      assertEachMailed(messages, mails, sent, got);
      // Other users of the PostgreSQL server may take its last connection.
      const refused = Object.entries({ ...store.seen, '503 messages': messages.unavailable }).filter(
        ([what, times]) => what.startsWith('503') && times > 0,
      );
      if (embedded) assert.deepEqual(refused, []);

      for (const node of nodes) assert.equal((await node.stop()).code, 0, node.log());
      const stored = embedded ? storedIn(directory) : await storedAt(environment['PETSTORE_DATABASE_URL']!);
      store.assertOnce(stored.events);
      store.assertKept(stored.events);
      assertEventsAsStored(events, stored.events);
      t.diagnostic(
        `${kills} kills: ${JSON.stringify(came)}; ${events.length} events came ${receiver.arrivals.length} times, ` +
          `${messages.answered.size} messages were mailed ${mails.length} times, ${reader.connections} streams; ` +
          `done ${Math.round(doneMs)} ms after the last call; ${JSON.stringify(store.seen)}`,
      );

      /** Adds new events to `events`; returns what is still pending. */
      async function pendingWork(): Promise<string | undefined> {
        const after = events.at(-1)?.id ?? behind;
        const more = await everyItem<PublicEvent>(`${urls.production}/events?limit=100&after=${after}`, owner);
        events.push(...more);
        if (more.length > 0) return `${more.length} more events`;
        const missing = events.filter(({ id }) => !receiver.hasAccepted(id));
        if (missing.length > 0)
          return `${missing.length} of ${events.length} events, ${missing[0]!.id} the first of them`;
        const pending = `${urls.production}${path}/deliveries?status=pending&limit=1`;
        if ((await everyItem(pending, owner)).length > 0) return 'pending deliveries';
        const messages = (await Promise.all([owner, buyer].map(key => box(key, 'sent')))).flat();
        if (messages.some(({ status }) => status === 'queued')) return 'queued messages';
        const holds = Map.groupBy(
          events.filter(({ type }) => type.startsWith('hold.') && type !== 'hold.extended'),
          ({ data }) => data.id,
        );
        for (const [id, some] of holds) if (some.length < 2) return `the hold ${id}`;
        if (reader.events.at(-1)?.id !== events.at(-1)?.id) return 'events that the stream has not sent';
        return undefined;
      }

      function box(key: string, which: 'sent' | 'inbox'): Promise<Message[]> {
        return everyItem<Message>(`${urls.messages}/messages?limit=100&box=${which}`, key);
      }
    });
  });
});

/** Waits for a moment, and acts at once. */
class Watch {
  #waiting: { readonly moment: Moment; act(moment: Moment, what: string): void } | undefined;

  /** Reports a moment. */
  comes(moment: Moment, what: string): void {
    if (this.#waiting?.moment === moment) this.#waiting.act(moment, what);
  }

  /** Acts synchronously at the next such moment, or after a timeout; returns which it was. */
  next(
    moment: Moment,
    timeoutMs: number,
    act: () => void,
  ): Promise<{ readonly moment: Moment; readonly what: string }> {
    return new Promise(resolve => {
      const end = setTimeout(() => this.#waiting?.act('any time', ''), timeoutMs);
      this.#waiting = {
        moment,
        act: (moment, what) => {
          act();
          this.#waiting = undefined;
          clearTimeout(end);
          resolve({ moment, what });
        },
      };
      if (moment === 'any time') this.comes(moment, '');
    });
  }
}

async function newAdminKey(node: Process): Promise<string> {
  const account = await node.petstore(
    ...['account', 'create', '--email', 'admin@example.org', '--name', 'An admin', '--admin', '--plan', 'enterprise'],
    ...['--per-minute', '1000000', '--per-day', '1000000'],
  );
  const of = ['--account', String(account['id']), '--deployment', 'production'];
  return String((await node.petstore('key', 'create', ...of))['token']);
}

/** Creates and activates a webhook for all events; returns its path, and the event after which it starts. */
async function newWebhook(
  base: string,
  key: string,
  receiver: UnreliableReceiver,
): Promise<{ readonly path: string; readonly behind: string }> {
  const made = await send(`${base}/webhooks`, { method: 'POST', key, body: { url: receiver.url } });
  assert.equal(made.status, 201, made.text);
  receiver.secret = made.body.secret;
  const path = `/webhooks/${made.body.id}`;
  const activated = await send(`${base}${path}/activation`, { method: 'POST', key });
  assert.equal(activated.status, 200, activated.text);
  const { headers } = await send(`${base}/events?limit=100`, { key });
  return { path, behind: String(headers['x-sync-token']) };
}

/** Asserts that each event has one delivery, with exactly one recorded success. */
function assertEachDelivered(events: readonly PublicEvent[], deliveries: readonly Delivery[]): void {
  const ids = (some: readonly (string | undefined)[]) => some.map(String).toSorted();
  assert.deepEqual(ids(deliveries.map(({ eventId }) => eventId)), ids(events.map(({ id }) => id)));
  for (const delivery of deliveries) {
    const successes = delivery.attempts.filter(({ status = 0 }) => status >= 200 && status < 300);
    assert.deepEqual([delivery.status, successes.length], ['delivered', 1], JSON.stringify(delivery));
  }
}

/**
 * Asserts that each message is in one inbox once and was e-mailed once, or again after a kill: for each kill at most as many
 * as a process sends at the same time.
 */
function assertEachMailed(
  { answered }: MessageLoad,
  mails: readonly Mailed[],
  sent: readonly Message[],
  got: readonly Message[],
): void {
  const marks = [...answered.keys()].toSorted();
  for (const box of [sent, got]) assert.deepEqual(box.map(({ message }) => message).toSorted(), marks);
  for (const { status, attempts, message } of sent) {
    const done = attempts.map(({ by, outcome }) => `${by} ${outcome}`);
    assert.deepEqual([status, ...done], ['delivered', 'inbox delivered', 'email delivered'], message);
  }
  const copies = Map.groupBy(mails, ({ mark }) => mark);
  assert.deepEqual([...copies.keys()].toSorted(), marks, 'each message is e-mailed, and nothing else');
  const again = new Map<number, number>();
  for (const [mark, some] of copies) {
    const between = some.map(({ kills }) => kills);
    assert.equal(new Set(between).size, some.length, `${mark} was e-mailed after ${between} kills`);
    for (const kill of between.slice(0, -1)) again.set(kill, (again.get(kill) ?? 0) + 1);
  }
  for (const [kill, count] of again)
    assert.ok(count <= MAILS_IN_PROGRESS, `${count} e-mails were repeated after kill ${kill}`);
}

/** Asserts that the owner of all pets received every stored event about them, their holds and their orders. */
function assertEventsAsStored(
  events: readonly PublicEvent[],
  stored: readonly { readonly id: number; readonly kind: string; readonly seq?: number | null }[],
): void {
  const kinds = ['pet', 'hold', 'order'];
  const received = events.filter(({ type }) => kinds.includes(type.split('.')[0]!)).map(({ sequence }) => sequence);
  const positions = stored.filter(({ kind }) => kinds.includes(kind)).map(({ id, seq }) => Number(seq ?? id));
  assert.deepEqual(
    received,
    positions.filter(position => position <= received.at(-1)!).toSorted((one, other) => one - other),
  );
}

function pick<Item>(items: readonly Item[]): Item {
  return items[Math.floor(Math.random() * items.length)]!;
}
