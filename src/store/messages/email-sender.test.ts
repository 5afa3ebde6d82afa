import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type SmtpServer, startSmtpServer } from '../../../test/support/smtp-server.ts';
import { type Email, type EmailSender, openEmailSender } from './email-sender.ts';

const email: Email = {
  id: 'msg_7.1',
  to: ['ada@example.org'],
  replyTo: null,
  subject: 'A message to the pet store',
  text: 'Hello',
  at: Date.parse('2026-11-21T12:00:00Z'),
};

describe('openEmailSender', () => {
  let server: SmtpServer;
  let sender: EmailSender;
  before(async () => {
    server = await startSmtpServer({ login: 'store:pass:w@rd/ü' });
    sender = await openEmailSender({ url: server.url, from: 'store@example.org' });
  });
  after(() => server.close());

  it('sends plain text from the store to every recipient, with the same id for each attempt', async () => {
    server.behaviour = {};
    const to = ['ada@example.org', 'bob@example.org'];
    assert.equal(await sender.send({ ...email, to, replyTo: 'jo@example.org' }), undefined);
    assert.equal(await sender.send({ ...email, to }), undefined);
    const [first, second] = server.mails.slice(-2);
    assert.equal(first!.from, 'store@example.org');
    assert.deepEqual(first!.to, to);
    assert.equal(first!.headers.get('reply-to'), 'jo@example.org');
    assert.equal(second!.headers.get('reply-to'), undefined);
    assert.equal(first!.headers.get('message-id'), '<msg_7.1@example.org>');
    assert.equal(first!.headers.get('message-id'), second!.headers.get('message-id'));
    assert.equal(first!.headers.get('from'), 'Pet Store <store@example.org>');
    assert.equal(first!.headers.get('subject'), 'A message to the pet store');
    assert.match(first!.headers.get('content-type')!, /^text\/plain; charset=utf-8/);
    assert.equal(first!.text, 'Hello');
    assert.equal(server.logins.at(-1), 'store:pass:w@rd/ü');
  });

  it('sends every text unchanged, and never as a header', async () => {
    server.behaviour = {};
    for (const text of [
      'a\nb\n\nc',
      'tab\there',
      '.\n..\n.hidden\n.',
      'From here\nFrom there',
      'Bcc: eve@example.org\nSubject: x\n\nnot a head',
      '\nSubject: x\n\n',
      '<b>not bold</b> & <script>alert(1)</script>',
      'Żółw 🐢 naïve\u2028next',
      'x'.repeat(10_000),
      '🐈'.repeat(10_000),
      '  spaces  \n  at ends  ',
      '=41=\n=',
      'bell\u0007 escape\u001b[31m',
    ]) {
      assert.equal(await sender.send({ ...email, text }), undefined, JSON.stringify(text.slice(0, 50)));
      const sent = server.mails.at(-1)!;
      // An e-mail ends with a line break.
      assert.equal(sent.text.replaceAll('\r\n', '\n'), text.replace(/\n$/, ''), JSON.stringify(text.slice(0, 50)));
      assert.deepEqual(
        sent.headerLines.map(line => line.split(':')[0]!).filter(name => /^(bcc|cc|subject)$/i.test(name)),
        ['Subject'],
      );
      assert.deepEqual(sent.to, ['ada@example.org']);
      for (const name of sent.headers.keys()) assert.match(name, /^[a-z-]+$/);
    }
  });

  it('distinguishes permanent from temporary failures', async () => {
    for (const [behaviour, reason, final] of [
      [{ sender: '553 not from you' }, 'refused', false],
      [{ recipient: '550 no such user' }, 'refused', true],
      [{ recipient: '451 come back later' }, 'postponed', false],
      [{ message: '554 no' }, 'refused', true],
      [{ message: '452 full' }, 'postponed', false],
      [{ greeting: '421 busy' }, 'postponed', false],
      [{ greeting: '554 not you' }, 'refused', false],
      [{ message: 'die' }, 'unreachable', false],
    ] as const) {
      server.behaviour = behaviour;
      const failure = await sender.send(email);
      assert.deepEqual([failure?.reason, failure?.final], [reason, final], JSON.stringify([behaviour, failure]));
      assert.doesNotMatch(failure!.detail, /pass|ada|no such/);
    }
  });

  it('returns the recipients that the server deferred, however they spell their address', async () => {
    const to = ['ada@example.org', 'Bob@Example.org', 'eve@exämple.org', 'gone@example.org'];
    const answers = new Map([
      ['bob', '450 4.2.0 greylisted'],
      ['eve', '452 full'],
      ['gone', '550 no such user'],
    ]);
    const recipient = (address: string) => answers.get(address.split('@')[0]!.toLowerCase());
    server.behaviour = { recipient };
    const failure = await sender.send({ ...email, to });
    assert.deepEqual(
      [failure?.reason, failure?.final, failure?.deferred],
      ['postponed', false, ['Bob@Example.org', 'eve@exämple.org']],
    );
    assert.deepEqual(server.mails.at(-1)!.to, ['ada@example.org']);
    answers.delete('bob');
    answers.delete('eve');
    const refused = await sender.send({ ...email, to });
    assert.deepEqual([refused?.reason, refused?.final, refused?.deferred], ['refused', true, []]);
    answers.set('ada', '450 later').set('bob', '550 never').set('eve', '550 never');
    const nobody = await sender.send({ ...email, to });
    assert.deepEqual([nobody?.reason, nobody?.final, nobody?.deferred], ['postponed', false, undefined]);
  });

  it('reports a wrong password and an unreachable server as temporary', async () => {
    server.behaviour = {};
    const wrong = await openEmailSender({ url: server.url.replace('store:', 'other:'), from: 'store@example.org' });
    const refused = await wrong.send(email);
    assert.deepEqual([refused?.reason, refused?.final], ['refused', false]);
    const gone = await startSmtpServer();
    await gone.close();
    const nobody = await openEmailSender({ url: gone.url, from: 'store@example.org' });
    assert.deepEqual((await nobody.send(email))?.reason, 'unreachable');
  });
});
