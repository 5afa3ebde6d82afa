import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { before, describe, it } from 'node:test';
import { getAccount, requestDeletion } from '../../src/access/accounts/accounts.ts';
import { getKey } from '../../src/access/keys/keys.ts';
import { acceptInvitation, invite } from '../../src/access/people/invitations.ts';
import { findLink } from '../../src/access/sessions/links.ts';
import { addPasskey } from '../../src/access/sessions/passkeys.ts';
import { listSecondFactors } from '../../src/access/sessions/second-factors.ts';
import type { Terminal } from '../../src/cli/command.ts';
import { main } from '../../src/cli/main.ts';
import { plain } from '../../src/cli/terminal.ts';
import { createWebhook } from '../../src/events/webhooks/webhooks.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createEncryptor } from '../../src/lib/encryption.ts';
import type { Noun } from '../../src/model/noun.ts';
import { nouns } from '../../src/model/nouns.ts';
import type { DeploymentName } from '../../src/model/schema.ts';
import { addUsage } from '../../src/operate/usage/counts.ts';
import { addRequests } from '../../src/operate/usage/log.ts';
import { assignMessage, listInbox, moveMessage } from '../../src/store/inbox/list.ts';
import { addNote } from '../../src/store/inbox/notes.ts';
import { inboxDelivery } from '../../src/store/messages/inbox-delivery.ts';
import { replaceOrganization } from '../../src/store/organizations/organizations.ts';
import { createPet } from '../../src/store/pets/pets.ts';
import { exportedTables } from '../../src/views/account-export/export.ts';
import { type Environment, jsonOf, petstore, refused } from '../support/commands.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { newKey, serve } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { addPet, onData, onEachEngine } from './store-commands.ts';

onEachEngine(environment => {
  let here: Environment;
  before(() => {
    here = environment();
  });

  it('transfers the animals of an account on both deployments, or on one', async () => {
    for (const deployment of ['production', 'staging', 'staging']) await addPet(here, { deployment });
    const transfer = (from: number, to: number, ...args: string[]) =>
      jsonOf(here, 'account', 'transfer', String(from), '--to', String(to), ...args);
    assert.deepEqual(await transfer(1, 2), { production: 1, staging: 2 });
    assert.deepEqual(await transfer(1, 2), { production: 0, staging: 0 });
    assert.deepEqual(await transfer(2, 1, '--deployment', 'staging'), { staging: 2 });
    assert.equal((await jsonOf(here, 'pet', 'list', '--account=2')).length, 1);
    await transfer(2, 1);
    await refused(here, /There is no account 999/, 'account', 'transfer', '1', '--to', '999');
  });

  it('lists the members of an account and removes one, but not the last owner', async () => {
    const [owner] = await jsonOf(here, 'member', 'list', '1');
    assert.deepEqual([owner.id, owner.email, owner.role], [1, 'owner@example.org', 'owner']);
    const dana = await onData(here, 'production', database =>
      database.write(async tx => {
        const invited = { accountId: 1, invitedBy: 1, role: 'staff', email: 'dana@example.org' } as const;
        const secret = await invite(tx, invited, undefined);
        return acceptInvitation(tx, secret!, { name: 'Dana', hash: 'x' }, undefined);
      }),
    );
    assert.match((await petstore(here, 'member', 'list', '1')).printed, /dana@example\.org +Dana +staff/);
    const { personId, url } = await jsonOf(here, 'member', 'link', String(dana!.id));
    assert.equal(personId, dana!.id);
    const secret = new URL(url).pathname.split('/').at(-1)!;
    const link = await onData(here, 'production', database => findLink(database, secret, Date.now()));
    assert.deepEqual([link?.personId, link?.email], [dana!.id, 'dana@example.org'], 'not the owner');
    await refused(here, /needs an owner/, 'member', 'remove', '1', '1');
    await jsonOf(here, 'member', 'remove', '1', String(dana!.id));
    assert.equal((await jsonOf(here, 'member', 'list', '1')).length, 1);
    await refused(here, /No member has the id/, 'member', 'link', String(dana!.id));
    await refused(here, /has no member/, 'member', 'remove', '1', String(dana!.id));
    await refused(here, /There is no account 999/, 'member', 'list', '999');
    assert.deepEqual((await jsonOf(here, 'verify')).findings ?? [], []);
  });

  it('removes the second factor of a person who has lost it, and records that', async () => {
    const passkey = { credentialId: 'lost', publicKey: 'key', algorithm: -7, signCount: 0, backedUp: false };
    await onData(here, 'production', database =>
      database.write(tx => addPasskey(tx, 1, { ...passkey, name: 'Phone' }, 1)),
    );
    assert.deepEqual(await jsonOf(here, 'member', 'reset-second-factor', '1'), { personId: 1 });
    const left = await onData(here, 'production', database => listSecondFactors(database, 1));
    assert.deepEqual(left, { app: undefined, passkeys: [], recoveryCodes: 0 });
    const entries = await jsonOf(here, 'audit', 'list', '--types=account.second_factor_changed');
    assert.equal(entries.length, 1);
    await refused(here, /There is no person 999/, 'member', 'reset-second-factor', '999');
  });

  it('exports what an account has, with neither tokens nor secrets', async () => {
    const key = await jsonOf(here, 'key', 'create', '--account=1');
    const pets = await onData(here, 'production', database =>
      database.write(async tx => {
        const ids: number[] = [];
        for (let count = 0; count < 120; count++) {
          ids.push((await createPet(tx, 1, { name: 'Minka', categoryId: 2 }, 'open')).id);
        }
        return ids;
      }),
    );
    await jsonOf(here, 'order', 'place', '--account=2', `--pet=${pets[0]}`, '--note=hello');
    await jsonOf(here, 'message', 'send', '--account=2', `--pet=${pets[0]}`, '--message=Is it there?');
    await jsonOf(here, 'message', 'send', '--account=1', '--message=Hello');
    const rules = { max: 10, networks: [] };
    const { secret } = await onData(here, 'production', database =>
      database.write(tx =>
        createWebhook(
          tx,
          { accountId: 1, admin: false },
          { url: 'https://x.example/' },
          rules,
          createEncryptor(Buffer.alloc(32)),
        ),
      ),
    );
    const { now } = await onData(here, 'production', database =>
      database.write(async tx => {
        const counts = { succeeded: 3, clientErrors: 1, rateLimited: 0, banned: 0, serverErrors: 0, unlogged: 2 };
        const [hour, keyId] = [Math.floor(tx.now / 3_600_000), key.id];
        const used = (accountId: number, deployment: DeploymentName, hour: number) => ({
          ...{ accountId, deployment, keyId, hour },
          ...counts,
        });
        await addUsage(tx, [used(1, 'staging', hour), used(1, 'production', hour - 89 * 24), used(2, 'staging', hour)]);
        const request = {
          deployment: 'staging',
          keyId,
          method: 'GET',
          path: '/v1/pets',
          operation: 'listPets',
        } as const;
        const answer = { status: 200, code: null, durationMs: 1, time: tx.now };
        const requests = Array.from({ length: 101 }, (_, n) => ({ accountId: 1, requestId: `own-${n}` }));
        for (const one of [...requests, { accountId: 2, requestId: 'of-another' }]) {
          await addRequests(tx, [{ ...request, ...answer, ...one }]);
        }
        return { now: tx.now };
      }),
    );
    await onData(here, 'production', database =>
      database.write(tx => replaceOrganization(tx, { accountId: 1, admin: false }, 1, { name: 'Maple Lane' })),
    );
    await onData(here, 'production', async database => {
      while ((await inboxDelivery({ database }).claim(1)).jobs.length > 0);
      const { rows } = await listInbox(database, 1, { folder: 'open' }, { limit: 1 });
      await database.write(async tx => {
        await assignMessage(tx, rows[0]!, 1);
        await addNote(tx, rows[0]!, 'Call back', 1000);
        await moveMessage(tx, rows[0]!, 'spam');
      });
      const passkey = { credentialId: 'exported', publicKey: 'hidden', algorithm: -7, signCount: 0, backedUp: false };
      await database.write(tx => addPasskey(tx, 1, { ...passkey, name: 'Phone' }, 1));
    });
    const { printed } = await petstore(here, 'account', 'export', '1');
    const data = JSON.parse(printed);
    const { account, keys, events, production, staging, usage, requests } = data;
    const starts = [now - 89 * 86_400_000, now].map(time => Math.floor(time / 3_600_000) * 3_600_000);
    assert.deepEqual(
      usage.map(({ start, succeeded }: { start: string; succeeded: number }) => [Date.parse(start), succeeded]),
      starts.map(start => [start, 3]),
    );
    assert.equal(requests.length, 101);
    assert.deepEqual([requests[0].requestId, requests[0].deployment], ['own-100', 'staging']);
    assert.ok(!printed.includes('of-another'));
    const members = [
      ...Object.values(exportedTables).filter(member => typeof member === 'string'),
      ...Object.values<Noun>(nouns).flatMap(({ exported }) =>
        typeof exported === 'string' ? [] : Object.keys(exported),
      ),
    ];
    for (const member of members) assert.ok(member in data || member in production, member);
    assert.deepEqual([account.id, account.email], [1, 'owner@example.org']);
    assert.ok(keys.some(({ id }: { id: string }) => id === key.id));
    assert.ok(events.some(({ type }: { type: string }) => type === 'account.created'));
    for (const name of ['animals', 'orders', 'holds', 'sentMessages', 'inbox', 'webhooks'])
      assert.ok(staging[name], name);
    const ids = production.animals.map(({ id }: { id: number }) => id);
    assert.deepEqual(
      ids.filter((id: number) => pets.includes(id)),
      pets,
    );
    assert.deepEqual([production.organization.name, staging.organization], ['Maple Lane', null]);
    assert.equal(production.orders.at(-1).note, 'hello');
    assert.equal(production.sentMessages.at(-1).message, 'Hello');
    assert.equal(production.webhooks.at(-1).url, 'https://x.example/');
    const [state] = production.inboxStates;
    assert.deepEqual({ ...state, messageId: 0 }, { messageId: 0, folder: 'spam', unread: false, assignedTo: 1 });
    assert.ok(production.inbox.some(({ id }: { id: string }) => id === state.messageId));
    assert.deepEqual([production.notes[0].text, production.notes[0].personId], ['Call back', null]);
    assert.equal(production.blockedSenders[0].lastAt, production.blockedSenders[0].createdAt);
    assert.deepEqual(data.members[0].secondFactors[0].name, 'Phone');
    assert.deepEqual(data.members[0].secondFactors[0].lastUsedAt, null);
    assert.deepEqual(
      data.formerMembers.map(({ name }: { name: string }) => name),
      ['Dana'],
    );
    for (const hidden of [key.token.slice(27), secret, 'hidden']) assert.ok(!printed.includes(hidden));
    assert.deepEqual(await jsonOf(here, 'account', 'export', '1'), JSON.parse(printed));
    await refused(here, /There is no account 999/, 'account', 'export', '999');
  });

  it('exports page by page, as fast as the output is read', async () => {
    let [pending, largest, written] = [0, 0, ''];
    const terminal: Terminal = {
      print: text => {
        written += text;
      },
      printError: assert.fail,
      async write(text) {
        largest = Math.max(largest, text.length);
        assert.equal(++pending, 1, 'an earlier part is not read yet');
        await new Promise(resolve => setImmediate(resolve));
        pending--;
        written += text;
      },
      style: plain,
    };
    assert.equal(await main(['account', 'export', '1'], here, terminal), 0);
    assert.ok(JSON.parse(written).production.animals.length > 100);
    assert.ok(largest < 60_000, `a part of ${largest} characters`);
  });

  it('revokes all keys of an account', async () => {
    const account = await jsonOf(here, 'account', 'create', '--email=keys@example.org', '--name=Keys');
    const ids = [];
    for (const deployment of ['production', 'staging']) {
      ids.push((await jsonOf(here, 'key', 'create', `--account=${account.id}`, `--deployment=${deployment}`)).id);
    }
    const revoked = await jsonOf(here, 'account', 'revoke-keys', String(account.id));
    assert.deepEqual(revoked.map(({ id }: { id: string }) => id).sort(), ids.sort());
    assert.ok(revoked.every(({ state }: { state: string }) => state === 'revoked'));
    assert.deepEqual(await jsonOf(here, 'account', 'revoke-keys', String(account.id)), []);
    await refused(here, /There is no account 999/, 'account', 'revoke-keys', '999');
  });

  it('keeps the only active admin', async () => {
    const create = (email: string) =>
      jsonOf(here, 'account', 'create', `--email=${email}`, '--name=Admin', '--admin').then(({ id }) => String(id));
    const admin = await create('admin@example.org');
    const leave = [
      ['update', admin, '--no-admin'],
      ['suspend', admin],
      ['delete', admin],
    ];
    for (const command of leave) {
      await refused(
        here,
        new RegExp(`^Account ${admin} is the only active admin: make another`),
        'account',
        ...command,
      );
    }
    await create('other@example.org');
    await jsonOf(here, 'account', 'delete', admin, '--grace', '0s');
  });

  it('deletes an account after its grace period, and can resume it until then', async () => {
    const { id } = await jsonOf(here, 'account', 'create', '--email=gone@example.org', '--name=Gone');
    const deleted = await jsonOf(here, 'account', 'delete', String(id), '--grace', '7d');
    assert.equal(Date.parse(deleted.deleteAt) - Date.parse(deleted.suspendedAt), 7 * 86_400_000);
    const resumed = await jsonOf(here, 'account', 'resume', String(id));
    assert.deepEqual([resumed.deleteAt, resumed.suspendedAt], [undefined, undefined]);
    await jsonOf(here, 'account', 'delete', String(id), '--grace', '0s');
    await refused(here, /grace period of account \d+ is over/, 'account', 'resume', String(id));
  });
});

overEachEngine(engine => {
  describe('a server', () => {
    it('lets unused keys expire if PETSTORE_KEY_IDLE_DAYS says so', async () => {
      const clock = systemClock();
      const environment = { ...(await engine.settings()), PETSTORE_KEY_IDLE_DAYS: '1' };
      const serving = await serve({ environment, clock });
      try {
        const { production } = serving.app.databases;
        const { id } = await newKey(production);
        clock.advanceTo(clock.now() + 25 * 3_600_000);
        while ((await getKey(production, id)).expiresAt === null) {
          await new Promise(resolve => setTimeout(resolve, 50));
        }
      } finally {
        await serving.stop();
      }
    });

    it('deletes accounts whose grace period is over', async () => {
      const clock = systemClock();
      const serving = await serve({ environment: await engine.settings(), clock });
      try {
        const { production } = serving.app.databases;
        const { accountId } = await newKey(production);
        await production.write(tx => requestDeletion(tx, accountId, 0));
        clock.advanceTo(clock.now() + 61_000);
        while ((await getAccount(production, accountId)).deletedAt === undefined) {
          await new Promise(resolve => setTimeout(resolve, 50));
        }
      } finally {
        await serving.stop();
      }
    });
  });
});

describe('a command without a store', () => {
  it('names the directory that it looked in, and creates nothing', async () => {
    const directory = temporaryDirectory();
    for (const data of [directory, join(directory, 'data')]) {
      const environment = { PETSTORE_DATA_DIR: data };
      for (const line of [
        'account list',
        'account suspend 1',
        'account export 1',
        'account transfer 1 --to 2',
        'key create --account 1',
        'key list',
        'ban list',
        'pet list --deployment staging',
        'pet create --account 1 --name Minka --category 2',
        'staging reset',
      ]) {
        const { code, printed, errors } = await petstore(environment, ...line.split(' '));
        assert.deepEqual([code, printed], [1, ''], line);
        assert.ok(errors.includes(`There is no pet store in ${data}:`), errors);
        assert.match(errors, /^[^\n]+\n$/);
      }
    }
    assert.deepEqual(await readdir(directory), []);
  });

  it('creates one if it creates an account, and says where unless a setting does', async () => {
    const directory = temporaryDirectory();
    const create = ['account', 'create', '--email', 'a@example.org', '--name', 'A', '--json'];
    const explicit = await petstore({ PETSTORE_DATA_DIR: join(directory, 'data') }, ...create);
    assert.deepEqual([explicit.code, explicit.errors], [0, '']);
    const previous = process.cwd();
    process.chdir(temporaryDirectory());
    try {
      const implicit = await petstore({}, ...create);
      const data = join(process.cwd(), 'data');
      assert.deepEqual([implicit.code, implicit.errors], [0, `Created a new pet store in ${data}.\n`]);
      assert.ok(existsSync(join(data, 'production.db')));
      assert.equal((await petstore({}, ...create.with(3, 'b@example.org'))).errors, '');
    } finally {
      process.chdir(previous);
    }
  });
});
