import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { type Params, query } from '../../src/model/schema.ts';
import { deletePet } from '../../src/store/pets/pets.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { type SmtpServer, startSmtpServer } from '../support/smtp-server.ts';
import { waitUntil } from '../support/wait-until.ts';
import { assertFits, follow, launchBrowser, serveInBrowser, skipBrowser } from './browser.ts';
import { anonymous, signedIn, signedInAs, type Visitor } from './session.ts';

const HOSTILE = '<script>alert(1)</script>"\'&amp;';

describe('the inbox of an account', { skip: skipBrowser }, () => {
  let service: TestService;
  let browser: Browser;
  let origin: string;
  serveInBrowser(opened => {
    ({ service, browser, origin } = opened);
  });

  async function post(url: string, key: Awaited<ReturnType<TestService['newKey']>>, body: object): Promise<number> {
    const { status, body: created } = await send(url, { method: 'POST', key, body });
    assert.ok(status < 300, JSON.stringify(created));
    return created.id;
  }

  /** Returns a shelter with an animal, and a function with which a developer's key writes about it. */
  async function shelter(name: string) {
    const person = await signedIn(service);
    const ownKey = await service.newKey({ accountId: person.accountId });
    const otherKey = await service.newKey({ accountId: (await signedIn(service)).accountId });
    const petId = await post(`${service.urls.production}/pets`, ownKey, { name, categoryId: 2 });
    const write = (message: string, options = {}) =>
      post(`${service.urls.messages}/messages`, otherKey, { message, petId, ...options });
    return { person, petId, write, ownKey };
  }

  const rows = (text: string) => text.match(/<tr><th scope="row">/g)?.length ?? 0;
  const arrived = (person: Visitor, count: number) =>
    waitUntil(async () => rows((await person.open('/shelter/messages')).text) === count);

  it('begins empty, and shows what keys and visitors ask about its animals, the newest first', async () => {
    const { person, petId, write } = await shelter('Bella');
    const page = await person.newPage(browser);
    await page.goto(`${origin}/shelter/messages`);
    await page.getByText('No message waits for you.').waitFor();
    await write(`First\n${HOSTILE}`, { replyTo: 'jo@example.org' });
    await arrived(person, 1);
    const asked = { name: 'Ann', email: 'ann@example.org', message: 'Is she fine with cats?\n\nAnd dogs?' };
    await anonymous(service).submit(`/animals/${petId}`, asked);
    await arrived(person, 2);
    await page.reload();
    const cells = await page
      .locator('tbody tr')
      .evaluateAll(all =>
        all.map(row =>
          [...row.querySelectorAll('th, td')].slice(0, 3).map(cell => (cell as HTMLElement).innerText.trim()),
        ),
      );
    assert.deepEqual(cells, [
      ['Unread:\nIs she fine with cats? And dogs?', 'Bella', 'Ann, ann@example.org Address not confirmed'],
      [`Unread:\nFirst ${HOSTILE}`, 'Bella', 'jo@example.org'],
    ]);
    await follow(page.getByRole('link', { name: 'Is she fine' }));
    assert.equal(await page.locator('h1').innerText(), 'Message about Bella');
    assert.equal(await page.locator('.message').innerText(), 'Is she fine with cats?\n\nAnd dogs?');
    assert.equal(
      await page.getByRole('link', { name: 'Reply by e-mail' }).getAttribute('href'),
      'mailto:ann@example.org?subject=Your%20message%20about%20Bella',
    );
    await assertFits(page, 'a message');
    await follow(page.getByRole('link', { name: 'All messages' }));
    await assertFits(page, 'the inbox');
    await page.context().close();
  });

  it('keeps the messages about animals that are gone', async () => {
    const { person, petId, write } = await shelter('Tom');
    const id = await write('Is he still there?');
    await arrived(person, 1);
    const actor = { accountId: person.accountId, admin: false };
    await service.app.databases.production.write(tx => deletePet(tx, actor, petId));
    for (const path of ['/shelter/messages', `/shelter/messages/${id}`]) {
      const { status, text } = await person.open(path);
      assert.equal(status, 200);
      assert.match(text, /An animal that is gone/);
    }
  });

  /** Returns the messages of a list, with those that are unread in brackets. */
  const listed = ({ text }: Awaited<ReturnType<Visitor['open']>>) =>
    [...text.matchAll(/<span class="(un)?read">.*?<bdi>(.*?)<\/bdi>/g)].map(([, un, title]) =>
      un ? `[${title}]` : title,
    );
  const PATH = '/shelter/messages';

  it('reads, archives, restores and hides messages, with each list at an address of its own, without a script', async () => {
    const { person, write } = await shelter('Bella');
    await write('Question');
    await write('Buy cheap watches');
    await arrived(person, 2);
    const context = await browser.newContext({ javaScriptEnabled: false });
    await context.addCookies([person.cookie]);
    const page = await context.newPage();
    const list = async (show: string) => listed(await person.open(`${PATH}?show=${show}`));
    assert.deepEqual(await list('unread'), ['[Buy cheap watches]', '[Question]']);
    await page.goto(origin + PATH);
    assert.match(await page.getByRole('navigation', { name: 'Messages' }).innerText(), /Unread 2/);
    await follow(page.getByRole('link', { name: 'Question' }));
    assert.deepEqual(await list('unread'), ['[Buy cheap watches]']);
    await follow(page.getByRole('button', { name: 'Mark as unread' }));
    assert.deepEqual(await list('open'), ['[Buy cheap watches]', '[Question]']);

    await page.goto(`${origin}${PATH}?show=unread`);
    await follow(page.getByRole('row', { name: 'Question' }).getByRole('button', { name: 'Archive' }));
    assert.match(page.url(), /\?show=unread&done=archive/, 'the same list');
    assert.deepEqual([await list('open'), await list('archived')], [['[Buy cheap watches]'], ['Question']]);
    await follow(page.getByRole('button', { name: 'Undo' }));
    assert.deepEqual([await list('open'), await list('archived')], [['[Buy cheap watches]', 'Question'], []]);

    await page.goto(origin + PATH);
    await follow(page.getByRole('link', { name: 'Buy cheap watches' }));
    await follow(page.getByRole('button', { name: 'Spam' }));
    assert.match(await page.getByRole('status').innerText(), /all that this sender writes/);
    await write('Buy more watches');
    await waitUntil(async () => (await list('spam')).length === 2);
    assert.deepEqual(await list('open'), ['Question']);
    assert.deepEqual(await list('unread'), []);
    await page.goto(`${origin}${PATH}?show=spam`);
    await follow(page.getByRole('link', { name: 'blocked senders' }));
    assert.match(await page.locator('tbody th').innerText(), /^Account \d+$/);
    await follow(page.getByRole('button', { name: 'Unblock' }));
    await page.getByText('No sender is blocked.').waitFor();
    await page.goto(`${origin}${PATH}?show=spam`);
    await follow(page.getByRole('link', { name: 'Buy cheap watches' }));
    await follow(page.getByRole('button', { name: 'Not spam' }));
    assert.deepEqual(await list('open'), ['Buy cheap watches', 'Question']);
    await context.close();
  });

  it('fits phones and is accessible with every list', async () => {
    const { person, write } = await shelter('Bella');
    const id = await write('W'.repeat(300), { replyTo: `${'w'.repeat(60)}@example.org` });
    await write('Second', { replyTo: 'jo@example.org' });
    await arrived(person, 2);
    const { headers } = await person.submit(`${PATH}/${id}`, { step: 'spam' });
    const page = await person.newPage(browser);
    for (const path of [headers.location!, `${PATH}?show=spam`, `${PATH}/${id}`, `${PATH}/blocked`]) {
      await page.goto(origin + path);
      await assertFits(page, path);
    }
    await page.context().close();
  });

  it('filters by animal', async () => {
    const { person, petId, write, ownKey } = await shelter('Bella');
    const other = await post(`${service.urls.production}/pets`, ownKey, { name: HOSTILE, categoryId: 2 });
    await write('About Bella');
    await write('About the other', { petId: other });
    await arrived(person, 2);
    const page = await person.newPage(browser);
    await page.goto(`${origin}${PATH}?show=unread`);
    assert.deepEqual(await page.getByLabel('Animal').locator('option').allInnerTexts(), [
      'All animals',
      HOSTILE,
      'Bella',
    ]);
    await page.getByLabel('Animal').selectOption('Bella');
    await follow(page.getByRole('button', { name: 'Show' }));
    assert.equal(new URL(page.url()).search, `?show=unread&animal=${petId}`);
    assert.deepEqual(await page.locator('tbody th').allInnerTexts(), ['Unread:\nAbout Bella']);
    assert.deepEqual(listed(await person.open(`${PATH}?animal=${other}`)), ['[About the other]']);
    assert.deepEqual(listed(await person.open(`${PATH}?animal=999999`)), []);
    assert.deepEqual(listed(await person.open(`${PATH}?animal=x&show=__proto__`)), [
      '[About the other]',
      '[About Bella]',
    ]);
    await page.context().close();
  });

  it('has notes that the sender never sees, with errors beside their field', async () => {
    const { person, write } = await shelter('Bella');
    const id = await write('Question');
    await arrived(person, 1);
    const page = await person.newPage(browser);
    await page.goto(`${origin}${PATH}/${id}`);
    await page.getByText('Add a note').click();
    await page.getByLabel('Note', { exact: true }).fill(HOSTILE);
    await follow(page.getByRole('button', { name: 'Save the note' }));
    assert.deepEqual(await page.locator('.thread .message').allInnerTexts(), ['Question', HOSTILE]);
    await assertFits(page, 'a message with a note');
    const submit = (note: string) => person.submit(`${PATH}/${id}`, { note });
    const errorOf = async (note: string) => /id="note-error">(.*?)</.exec((await submit(note)).text)?.[1];
    assert.equal(await errorOf(' \r\n'), 'Write the note first.');
    assert.equal(await errorOf('x'.repeat(2001)), 'The note has 2,001 characters. Shorten it to 2,000.');
    assert.equal(
      await errorOf('a\x07b'),
      'The note has characters that cannot be stored. Type it instead of pasting it.',
    );
    for (let n = 1; n < 20; n++) assert.equal((await submit(`${n}`)).status, 303);
    assert.equal(await errorOf('more'), 'The message has 20 notes, the maximum.');
    await page.goto(`${origin}${PATH}/${id}`);
    await follow(page.getByRole('button', { name: 'Delete the note' }).first());
    assert.equal(await page.locator('.thread .note').count(), 19);
    assert.equal((await submit('again')).status, 303);
    const sender = await service.app.databases.production.first(senderOf, { id: Number(String(id).slice(4)) });
    const key = await service.newKey({ accountId: sender!.accountId! });
    const seen = await send(`${service.urls.production}/messages/${id}`, { key });
    assert.equal(seen.status, 200);
    assert.ok(!seen.text.includes('again') && !seen.text.includes('script'));
    await page.context().close();
  });

  it('lets members who may only read change nothing, not even by opening a message', async () => {
    const { write, person } = await shelter('Max');
    const id = await write('Question');
    await arrived(person, 1);
    await service.app.databases.production.write(tx => tx.run(makeViewers, { accountId: person.accountId }));
    const { status, text } = await person.open(`${PATH}/${id}`);
    assert.equal(status, 200);
    assert.ok(!text.includes('name="step"') && !(await person.open(PATH)).text.includes('name="step"'));
    assert.deepEqual(listed(await person.open(PATH)), ['[Question]']);
    for (const fields of [{ step: 'archive' }, { note: 'Hello' }, { delete: '1' }]) {
      assert.equal((await person.submit(`${PATH}/${id}`, fields)).status, 403, JSON.stringify(fields));
    }
    assert.equal((await person.submit(`${PATH}/blocked`, { block: '1' })).status, 403);
  });

  it('assigns a message to a member who may answer, and names the authors of notes', async () => {
    const { person, write } = await shelter('Assigned');
    const path = `${PATH}/${await write('Is he calm?', { replyTo: 'jo@example.org' })}`;
    await arrived(person, 1);
    assert.doesNotMatch((await person.open(path)).text, /Who answers/, 'there is nobody else');
    const [staff, viewer] = [
      await signedInAs(service, person.accountId, 'staff'),
      await signedInAs(service, person.accountId, 'viewer'),
    ];
    assert.match((await person.open(path)).text, /Who answers/);
    assert.equal((await person.submit(path, { assignee: String(staff.personId) })).status, 303);
    assert.match((await person.open(PATH)).text, /data-column="Answers"><div><bdi>A staff<\/bdi>/);
    for (const assignee of [String(viewer.personId), '999999', 'x']) {
      assert.equal((await person.submit(path, { assignee })).status, 422, assignee);
    }
    assert.equal((await staff.submit(path, { note: 'I call her.' })).status, 303);
    assert.match((await person.open(path)).text, /Note of <bdi>A staff<\/bdi>/);
    assert.equal((await person.submit(path, { assignee: '' })).status, 303);
    assert.doesNotMatch((await person.open(PATH)).text, /data-column="Answers"><div><bdi>/);
  });

  it('lets no other account change a message', async () => {
    const { write, person } = await shelter('Max');
    const id = await write('For the shelter only');
    await arrived(person, 1);
    const stranger = await signedIn(service);
    for (const fields of [
      { step: 'spam' },
      { step: 'archive' },
      { note: 'Hello' },
      { reply: 'Hello' },
      { delete: '1' },
    ]) {
      assert.equal((await stranger.submit(`${PATH}/${id}`, fields)).status, 404, JSON.stringify(fields));
    }
    assert.equal((await person.submit(`${PATH}/${id}`, { step: 'toString' })).status, 200);
    assert.equal((await stranger.submit(`${PATH}/blocked`, { block: 'x' })).status, 404);
    assert.deepEqual(listed(await person.open(PATH)), ['[For the shelter only]']);
  });

  it('shows no message of another account, and none that the account sent', async () => {
    const { write, ownKey, person } = await shelter('Max');
    const id = await write('For the shelter only');
    await arrived(person, 1);
    const sent = await post(`${service.urls.messages}/messages`, ownKey, { message: 'To the store' });
    const stranger = await signedIn(service);
    assert.equal((await person.open(`/shelter/messages/${id}`)).status, 200);
    for (const [visitor, message] of [
      [stranger, id],
      [person, sent],
      [person, 'msg_999999'],
      [person, 'x'],
    ] as const) {
      assert.equal((await visitor.open(`/shelter/messages/${message}`)).status, 404);
    }
    assert.ok(!(await stranger.open('/shelter/messages')).text.includes('For the shelter'));
    assert.ok(!(await person.open('/shelter/messages')).text.includes('To the store'));
  });
});

const makeViewers = query((db, p: Params<{ accountId: number }>) =>
  db.updateTable('members').set({ role: 'viewer' }).where('account_id', '=', p.accountId),
);

const senderOf = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('messages').select('account_id as accountId').where('id', '=', p.id),
);

describe('replies from the inbox', { skip: skipBrowser }, () => {
  let service: TestService;
  let smtp: SmtpServer;
  let browser: Browser;
  let origin: string;
  before(async () => {
    smtp = await startSmtpServer();
    service = await serve({
      environment: {
        PETSTORE_SMTP_URL: smtp.url,
        PETSTORE_MAIL_FROM: 'store@example.org',
        PETSTORE_REPLIES_PER_DAY: '3',
      },
    });
    browser = await launchBrowser();
    origin = new URL(service.urls.production).origin;
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
    await smtp?.close();
  });

  const mailsTo = (email: string) => smtp.mails.filter(({ to }) => to.includes(email));

  /** Returns a shelter, and the path of a message of a visitor who confirmed the address. */
  async function askedShelter(email: string) {
    const person = await signedIn(service, { name: 'Riverside', email: `shelter-of-${email}` });
    const key = await service.newKey({ accountId: person.accountId });
    const pet = await send(`${service.urls.production}/pets`, {
      method: 'POST',
      key,
      body: { name: 'Bella', categoryId: 2 },
    });
    const visitor = anonymous(service);
    await visitor.submit(`/animals/${pet.body.id}`, { name: 'Jo', email, message: 'Is she fine with cats?' });
    await waitUntil(() => mailsTo(email).length === 1);
    await visitor.submit(/\/confirm-message\/\S+/.exec(mailsTo(email)[0]!.text)![0]);
    let path: string | undefined;
    await waitUntil(async () => {
      path = /\/shelter\/messages\/msg_\d+/.exec((await person.open('/shelter/messages')).text)?.[0];
      return path !== undefined;
    });
    return { person, path: path!, key };
  }

  it('go to the visitor by e-mail, once for a form, and the thread shows them', async () => {
    const { person, path, key } = await askedShelter('jo@example.org');
    const page = await person.newPage(browser);
    await page.goto(origin + path);
    await page.getByLabel('Your reply').fill('Yes, she is.\nCome on Saturday.');
    await assertFits(page, 'a message with a reply form');
    await follow(page.getByRole('button', { name: 'Send' }));
    await page.getByText('Your reply is on its way.').waitFor();
    await waitUntil(() => mailsTo('jo@example.org').length === 2);
    const mail = mailsTo('jo@example.org')[1]!;
    assert.match(
      mail.text.replaceAll('\r\n', '\n'),
      /^Yes, she is\.\nCome on Saturday\.\n\nRiverside\n\nYou wrote on .*:\n> Is she fine with cats\?\n/,
    );
    assert.equal(mail.headers.get('subject'), 'Your message about Bella: a reply from Riverside');
    assert.equal(mail.headers.get('reply-to'), 'shelter-of-jo@example.org');
    await waitUntil(async () => (await person.open(path)).text.includes('>Sent<'));
    const form = { reply: 'Two', 'form-key': 'k' };
    for (const _ of [1, 2]) assert.equal((await person.submit(path, form)).headers.location, `${path}?done=reply`);
    await waitUntil(() => mailsTo('jo@example.org').length === 3);
    assert.equal((await person.submit(path, { reply: 'Three' })).status, 303);
    const refused = await person.submit(path, { reply: 'Four, which stays in the form' });
    assert.equal(refused.status, 422);
    assert.match(refused.text, /id="reply-error">Your account has sent 3 replies by e-mail today/);
    assert.match(refused.text, /Four, which stays in the form/);
    const { body } = await send(`${service.urls.production}/account`, { key });
    assert.deepEqual(body.bounds.emailReplies, { used: 3, maximum: 3 });
    assert.match((await person.open('/usage')).text, /Replies by e-mail today/);
    await waitUntil(() => mailsTo('jo@example.org').length === 4);
    await page.context().close();
  });

  it('have errors beside the field', async () => {
    const { person, path } = await askedShelter('errors@example.org');
    const errorOf = async (reply: string) =>
      /id="reply-error">(.*?)</.exec((await person.submit(path, { reply })).text)?.[1];
    assert.equal(await errorOf(''), 'Write the reply first.');
    assert.equal(await errorOf('x'.repeat(5001)), 'The reply has 5,001 characters. Shorten it to 5,000.');
    assert.equal(mailsTo('errors@example.org').length, 1);
  });

  it('are stopped by a link: a page with a button, and one click in the e-mail program', async () => {
    const { person, path } = await askedShelter('stops@example.org');
    await person.submit(path, { reply: 'Hello' });
    await waitUntil(() => mailsTo('stops@example.org').length === 2);
    const { headers } = mailsTo('stops@example.org')[1]!;
    assert.equal(headers.get('list-unsubscribe-post'), 'List-Unsubscribe=One-Click');
    const url = /^<(.*)>$/.exec(headers.get('list-unsubscribe')!)![1]!;
    const page = await browser.newPage();
    await page.goto(url);
    await page.getByRole('button', { name: 'Stop e-mails' }).waitFor();
    await assertFits(page, 'the page that stops e-mails');
    assert.match((await person.open(path)).text, /<textarea id="reply"/, 'opening the page stops nothing');
    assert.equal((await page.goto(`${url}x`))?.status(), 404);
    assert.equal((await fetch(`${url}x`, { method: 'POST' })).status, 404);
    const oneClick = (body: FormData | URLSearchParams) => fetch(url, { method: 'POST', body, redirect: 'error' });
    assert.equal((await oneClick(new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }))).status, 200);
    const form = new FormData();
    form.set('List-Unsubscribe', 'One-Click');
    assert.equal((await oneClick(form)).status, 200, 'multipart');
    await page.goto(url);
    await page.getByText('Nobody can reply to this e-mail address').waitFor();
    const { text } = await person.open(path);
    assert.match(text, /wants no more e-mails through the store/);
    assert.match(text, /mailto:stops@example\.org/);
    assert.ok(!text.includes('<textarea id="reply"'));
    const refused = await person.submit(path, { reply: 'Hello again' });
    assert.equal(refused.status, 422);
    assert.match(refused.text, /cannot be answered by e-mail/);
    await page.close();
  });
});
