import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { cookieNames, formTokenOf } from '../../src/access/sessions/cookies.ts';
import { countText } from '../../src/lib/text.ts';
import { dayOf } from '../../src/lib/time.ts';
import { type Params, query, sql } from '../../src/model/schema.ts';
import { countOwned } from '../../src/store/pets/counts.ts';
import { send, type TestService } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';
import { assertFits, follow, serveInBrowser, skipBrowser } from './browser.ts';
import { signedIn, signedInTo, type Visitor } from './session.ts';

const HOSTILE = '<script>alert(1)</script>"\'&amp;';

describe('the pages of imports', { skip: skipBrowser }, () => {
  let service: TestService;
  let browser: Browser;
  let origin: string;
  serveInBrowser(opened => {
    ({ service, browser, origin } = opened);
  });

  const namesOf = async ({ accountId }: Visitor) => {
    const key = await service.newKey({ accountId, deployment: 'production' });
    const { body } = await send(`${service.urls.production}/pets?owner=me&sort=id`, { key });
    return body.map(({ name }: { name: string }) => name);
  };
  const csv = (...rows: string[]) => ({
    name: 'animals.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(['externalId,name,categoryId', ...rows, ''].join('\n')),
  });
  /** Sends the form without a browser, and waits until the import has ended. Returns the path of its page. */
  const preview = async ({ secret }: Visitor, file: string, fields: Record<string, string> = {}) => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ token: formTokenOf(secret), ...fields })) form.append(name, value);
    // The type that browsers on Windows give CSV.
    form.append('file', new Blob([file], { type: 'application/vnd.ms-excel' }), 'animals.csv');
    const headers = { cookie: `${cookieNames(origin).session}=${secret}`, accept: 'text/html' };
    const response = await fetch(`${origin}/shelter/imports`, {
      method: 'POST',
      headers,
      body: form,
      redirect: 'manual',
    });
    return { status: response.status, path: response.headers.get('location') ?? '', text: await response.text() };
  };
  const ended = async (person: Visitor, path: string) => {
    for (;;) {
      const { text } = await person.open(path);
      if (!text.includes('data-running')) return text;
      // A network may open 600 pages a minute.
      await pause(100);
    }
  };

  for (const javaScriptEnabled of [true, false]) {
    it(`preview a file, and import it, with scripts ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
      const person = await signedIn(service);
      const page = await person.newPage(browser, { javaScriptEnabled });
      await page.goto(`${origin}/shelter/animals`);
      await follow(page.getByRole('link', { name: 'Import a file' }));
      await page
        .getByLabel('File', { exact: true })
        .setInputFiles(csv('A-1,Rex,1', `A-2,"${HOSTILE.replaceAll('"', '""')}",1`, 'A-3,,1'));
      await follow(page.getByRole('button', { name: 'Preview the changes' }));
      await page.getByText('This is a preview: nothing has been changed.').waitFor();
      const fact = (name: string) => page.locator('dl.facts div', { hasText: name }).locator('dd').textContent();
      assert.deepEqual([await fact('Would be added'), await fact('With errors')], ['2', '1']);
      const row = page.locator('table tbody tr');
      assert.match((await row.textContent())!, /^4Errorname/);
      assert.deepEqual(await namesOf(person), []);
      await follow(page.getByRole('button', { name: 'Import these animals' }));
      await page.getByText('The import is done. 1 of 3 rows has errors and was left out.').waitFor();
      assert.deepEqual([await fact('Added'), await fact('With errors')], ['2', '1']);
      assert.deepEqual(await namesOf(person), ['Rex', HOSTILE]);
      await follow(page.getByRole('link', { name: 'All imports' }));
      await page.getByText('2 added, 1 with errors').waitFor();
      await page.context().close();
    });
  }

  it('delete animals that the file lacks only after a confirmation, where these are many', async () => {
    const person = await signedIn(service);
    const { path } = await preview(person, 'externalId,name,categoryId\nA,Rex,1\nB,Max,1\n');
    await ended(person, path);
    assert.equal((await person.submit(path)).status, 303);
    assert.match(await ended(person, path), /The import is done/);

    const fewer = await preview(person, '{"externalId":"A","name":"Rex"}\n', { mode: 'replace' });
    const text = await ended(person, fewer.path);
    assert.match((await person.open('/shelter/imports')).text, /1 unchanged, 1 would be deleted/);
    assert.match(text, /Delete 1 of my 2 animals/);
    assert.doesNotMatch(text, /confirmRemovals/);
    await person.submit(fewer.path);
    assert.match(await ended(person, fewer.path), /Nothing was changed: the import would delete 1 of 2 animals/);
    assert.deepEqual(await namesOf(person), ['Rex', 'Max']);

    const again = await preview(person, '\n{"externalId":"A","name":"Rex"}\n', { mode: 'replace' });
    await ended(person, again.path);
    const page = await person.newPage(browser);
    await page.goto(origin + again.path);
    await page.getByLabel('Delete 1 of my 2 animals').check();
    await follow(page.getByRole('button', { name: 'Import these animals' }));
    await page.getByText('The import is done.').waitFor();
    assert.deepEqual(await namesOf(person), ['Rex']);
    await page.context().close();
  });

  it('have other errors than their preview, under another entity tag', async () => {
    const person = await signedIn(service);
    const { path } = await preview(person, 'externalId,name,categoryId\nA,Rex,1\nB,Max,1\n');
    await ended(person, path);
    await person.submit(path);
    await ended(person, path);
    const fewer = await preview(person, 'externalId,name\nA,Rex\n', { mode: 'replace' });
    await ended(person, fewer.path);
    const { token } = await service.newKey({ accountId: person.accountId });
    const id = fewer.path.split('/').at(-1);
    const errors = (headers = {}) => send(`${service.urls.production}/imports/${id}/errors`, { key: token, headers });
    const before = await errors();
    assert.match(before.text, /too_many_removals/);
    await person.submit(fewer.path, { removals: '1' });
    assert.match(await ended(person, fewer.path), /The import is done/);
    const after = await errors({ 'If-None-Match': String(before.headers.etag) });
    assert.deepEqual([after.status, after.text], [200, '']);
  });

  it('end an import that goes on after signing out with the suspension of the account, and say how to go on', async () => {
    const person = await signedIn(service, { plan: 'enterprise', perMinute: 1000, perDay: 1000 });
    const { accountId } = person;
    const operator = await signedIn(service, { admin: true });
    const rows = 4000;
    const file = `externalId,name,categoryId\n${Array.from({ length: rows }, (_, row) => `A-${row},Rex,1\n`).join('')}`;
    const animals = () => countOwned(service.app.databases.production, accountId);
    const { path } = await preview(person, file);
    await ended(person, path);
    assert.equal((await person.submit(path)).status, 303);
    assert.equal((await person.submit('/sign-out')).status, 303);
    assert.match((await person.open(path)).headers.location!, /^\/sign-in/);
    const signedOutAt = await animals();
    await waitUntil(async () => (await animals()) > signedOutAt, 1);
    await operator.submit(`/operator/accounts/${accountId}/suspend`);
    const done = await animals();
    assert.ok(done < rows, `${done} animals`);
    await operator.submit(`/operator/accounts/${accountId}/resume`);

    const again = await signedInTo(service, accountId);
    const { text } = await again.open(path);
    assert.match(text, /The account is suspended\./);
    assert.ok(
      text.includes(`${countText(done)} of 4,000 rows are done, and stay. It is safe to import the file again`),
      text,
    );
    const second = await preview(again, file);
    await ended(again, second.path);
    await again.submit(second.path);
    assert.match(await ended(again, second.path), /The import is done/);
    assert.equal(await animals(), rows);
  });

  it('are linked from the keys, where one was revoked that an import depended on', async () => {
    const person = await signedIn(service, { plan: 'enterprise', perMinute: 1000, perDay: 1000 });
    const { accountId } = person;
    const key = await service.newKey({ accountId, deployment: 'production' });
    const body = `externalId,name,categoryId\n${Array.from({ length: 20_000 }, (_, row) => `A-${row},Rex,1\n`).join('')}`;
    const headers = { 'Content-Type': 'text/csv' };
    const sent = await send(`${service.urls.production}/imports`, { method: 'POST', key: key.token, headers, body });
    assert.equal(sent.status, 202, sent.text);
    const { headers: revoked } = await person.submit(`/keys/${key.id}/revoke`);
    const { text } = await person.open(revoked.location!);
    const [, path, rows] = /<a href="([^"]+)">Import \d+<\/a>: ([\d,]+) of 20,000 rows are done/.exec(text) ?? [];
    assert.equal(path, `/shelter/imports/${sent.body.id}`, text);
    assert.ok((await person.open(path)).text.includes(`${rows} of 20,000 rows are done`));
  });

  it('say what is wrong with a form and a file, and keep what was chosen', async () => {
    const person = await signedIn(service);
    const wrong = await preview(person, 'x', { currency: 'euros', preset: HOSTILE, mode: 'replace' });
    assert.equal(wrong.status, 422);
    assert.match(wrong.text, /Must be three letters/);
    assert.match(wrong.text, /value="replace" checked/);
    const unknown = await preview(person, 'externalId,name\nA,Rex\n', { mode: 'toString' });
    assert.match(unknown.text, /Choose one of these/);
    for (const [file, message] of [
      ['', /The file is empty/],
      ['externalId,name\nA,"Rex\n', /quotation mark/],
      ['name\nRex\n', /No column has the identifiers/],
      ['PK\x03\x04\x14\0', /The file is a spreadsheet .* Save it as CSV/],
      ['{\\rtf1', /The file is an RTF document/],
      ['ID,AnimalName,Type,photo1,Desc\n', /those of Petfinder: choose it under &#34;Columns of the file&#34;/],
    ] as const) {
      const { status, text } = await preview(person, file);
      assert.deepEqual([status, message.test(text)], [422, true], text.slice(-2000));
    }
    assert.equal((await person.submitMultipart('/shelter/imports')).status, 422);
    const { text: empty } = await person.open('/shelter/imports');
    assert.match(empty, /Nothing has been imported yet/);
    assert.match(empty, /at most 20 MiB, which your plan can store/);
  });

  it('name unknown columns, and suggest a known value once', async () => {
    const person = await signedIn(service);
    const { path } = await preview(person, 'externalId,name,categoryId,color,Notes\nA,Rex,1,White,Shy\n');
    const text = await ended(person, path);
    assert.match(text, /Notes<\/bdi>.*The column is not known: it is ignored\./);
    assert.equal(text.match(/Did you mean|did you mean/g)?.length, 1);
  });

  it('do not offer to import a file with more rows than are left today', async () => {
    const person = await signedIn(service);
    const { path } = await preview(person, 'externalId,name,categoryId\nA,Rex,1\nB,Bo,1\n');
    assert.match(await ended(person, path), /Import these animals/);
    await service.app.databases.production.write(tx =>
      tx.run(useRows, { accountId: person.accountId, day: dayOf(tx.now), rows: 19_999 }),
    );
    const { text } = await person.open(path);
    assert.match(text, /role="alert">The file has 2 rows\. .* have changed 19,999\. Wait until 00:00 UTC/);
    assert.doesNotMatch(text, /Import these animals/);
  });

  it('do not import a file that is not kept any more', async () => {
    const person = await signedIn(service);
    const { path } = await preview(person, 'externalId,name,categoryId\nA,Rex,1\n');
    await ended(person, path);
    await service.app.databases.production.write(tx => tx.run(expireFile, { accountId: person.accountId }));
    assert.match((await person.open(path)).text, /The file is no longer stored/);
    const { status, text } = await person.submit(path);
    assert.equal(status, 422);
    assert.match(text, /Choose it again/);
    assert.deepEqual(await namesOf(person), []);
  });

  it('belong to one account, can be canceled, and give their errors as a file', async () => {
    const person = await signedIn(service);
    const stranger = await signedIn(service, { admin: true });
    const rows = Array.from({ length: 2000 }, (_, row) => `A-${row},,1\n`).join('');
    const { path } = await preview(person, `externalId,name,categoryId\n${rows}`);
    const second = await preview(person, 'externalId,name,categoryId\nA,Rex,1\n');
    if (second.status === 422) assert.match(second.text, /Another import is in progress/);
    for (const other of [path, `${path}/errors`]) assert.equal((await stranger.open(other)).status, 404);
    for (const other of [path, `${path}/cancellation`]) assert.equal((await stranger.submit(other)).status, 404);
    assert.equal((await person.submit(`${path}/cancellation`)).status, 303);
    assert.match(await ended(person, path), /nothing has been changed/);
    const { headers, text } = await person.open(`${path}/errors`);
    assert.match(String(headers['content-disposition']), /attachment; filename="import-\d+-errors.ndjson"/);
    for (const line of text.split('\n').filter(Boolean)) assert.equal(JSON.parse(line).level, 'error');
  });

  it('fit every screen and are accessible', async () => {
    const person = await signedIn(service);
    const long = 'W'.repeat(300);
    const { path } = await preview(person, `externalId,${long}\nA,x\n${long},y\n`, { mode: 'replace' });
    await ended(person, path);
    const page = await person.newPage(browser);
    for (const shown of ['/shelter/imports', path]) {
      await page.goto(origin + shown);
      await assertFits(page, shown);
    }
    await page.context().close();
  });
});

const useRows = query((db, p: Params<{ accountId: number; day: number; rows: number }>) =>
  db.insertInto('imported_rows').values({ account_id: p.accountId, day: p.day, rows: p.rows }),
);

const expireFile = query((db, p: Params<{ accountId: number }>) =>
  db
    .updateTable('imports')
    .set({ due_at: sql.lit(1) })
    .where('account_id', '=', p.accountId),
);
