import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { findPerson } from '../../src/access/accounts/people.ts';
import { FOUNDERS_FACT } from '../../src/model/migrations/0047-people.ts';
import { getImport } from '../../src/store/imports/imports.ts';
import { createDatabase, migrateDatabase, onServer, run, withoutPostgres } from '../support/engines.ts';
import { skipFor } from '../support/selection.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { valkeyUrl, withoutValkey } from '../support/valkey-server.ts';
import { waitUntil } from '../support/wait-until.ts';
import { signedIn, type Visitor } from '../web/session.ts';

const OLDER = 'older';

describe('while a node of an older release serves the database', {
  skip: skipFor(withoutPostgres ?? withoutValkey),
}, () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let service: TestService;
  let person: Visitor;
  const execute = (text: string) => onServer(connection => run(connection, text), database.url);
  before(async () => {
    database = await createDatabase();
    await migrateDatabase(database.url);
    const now = Date.now();
    await execute(`insert into nodes (id, started_at, seen_at) values ('${OLDER}', ${now}, ${now})`);
    await execute(`insert into facts (name, value) values ('${FOUNDERS_FACT}', '')`);
    service = await serve({
      environment: {
        ...{ PETSTORE_DATABASE_URL: database.url, PETSTORE_VALKEY_URL: valkeyUrl },
        ...{ PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' },
      },
    });
    person = await signedIn(service);
  });
  after(async () => {
    await service?.stop();
    await database?.remove();
  });

  const token = async () => (await person.open('/account')).text.match(/name="token" value="([^"]+)"/)?.[1] ?? '';
  const encoding = async () =>
    (await person.open('/account', { 'accept-encoding': 'gzip' })).headers['content-encoding'];

  it('forms have the token that it accepts, in pages that are not compressed; imports wait; then neither', async () => {
    assert.equal(await encoding(), undefined);
    const unmasked = await token();
    assert.equal(unmasked.length, 43);
    assert.equal(await token(), unmasked);

    const begin = async (key: { readonly token: string }) => {
      const headers = { 'content-type': 'text/csv' };
      const body = 'externalId,name,categoryId\nA1,Rex,1\nA2,Minka,2\n';
      const begun = await send(`${service.urls.production}/imports`, { method: 'POST', key, headers, body });
      assert.equal(begun.status, 202, begun.text);
      return () => getImport(service.app.databases.production, { accountId: 0, admin: true }, begun.body.id);
    };
    const read = await begin(await service.newKey({ accountId: person.accountId }));
    // Another one is due, as the older node would make it.
    const readOther = await begin(await service.newKey());
    await execute(`update imports set due_at = 0 where id = ${(await readOther()).id}`);
    await waitUntil(async () => (await readOther()).state === 'completed');
    const held = await read();
    assert.deepEqual([held.state, held.rows_read], ['applying', 0]);
    assert.match((await person.open(`/shelter/imports/${held.id}`)).text, /begins once every server/);

    // The older node changes the address of the owner.
    await execute(`update accounts set email = 'moved@example.org' where id = ${person.accountId}`);

    await execute(`delete from nodes where id = '${OLDER}'`);
    await service.app.databases.production.write(tx => tx.notify('nodes'));
    await waitUntil(async () => (await read()).state === 'completed');
    assert.equal((await read()).created, 2);
    await waitUntil(async () => (await encoding()) === 'gzip');
    assert.notEqual(await token(), await token());
    assert.equal((await findPerson(service.app.databases.production, person.accountId))?.email, 'moved@example.org');
    assert.equal((await person.submit('/account/name', { name: 'Another' })).status, 303);
  });
});
