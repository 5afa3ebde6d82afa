import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAccount } from '../../src/access/accounts/accounts.ts';
import { testClock } from '../../src/lib/clock.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { eventsOf } from '../../src/model/log/log.ts';
import { nextDueTimes } from '../../src/operate/jobs.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { type ReceivedMail, startSmtpServer } from '../support/smtp-server.ts';
import { valkeyUrl, withoutValkey } from '../support/valkey-server.ts';
import { waitUntil } from '../support/wait-until.ts';

const PER_DAY = 10;
const email = 'small@example.org';

overEachEngine(engine => {
  // Several nodes need PostgreSQL, and share their counts in Valkey.
  const isShared = engine.name === 'postgres';
  const skip = isShared && withoutValkey;

  describe('an account that uses its day', { skip }, () => {
    it('gets an e-mail and an event at 80 and at 100 percent, once each, over all nodes', async t => {
      const smtp = await startSmtpServer();
      t.after(() => smtp.close());
      const environment = {
        ...(await engine.settings()),
        ...(isShared && { PETSTORE_VALKEY_URL: valkeyUrl }),
        ...{ PETSTORE_SMTP_URL: smtp.url, PETSTORE_MAIL_FROM: 'store@example.org' },
      };
      // Nodes that share their counts follow the clock of Valkey.
      const clock = isShared ? undefined : testClock(Date.parse('2026-11-22T12:00:00Z'));
      const nodes: TestService[] = [];
      for (let node = 0; node < (isShared ? 2 : 1); node++) {
        const service = await serve({ environment, ...(clock && { clock }) });
        t.after(() => service.stop());
        nodes.push(service);
      }
      const { production } = nodes[0]!.app.databases;
      const agreed = { plan: 'enterprise', perMinute: 1000, perDay: PER_DAY } as const;
      const { id: accountId } = await production.write(tx => createAccount(tx, { email, name: 'Small', ...agreed }));
      const key = await nodes[0]!.newKey({ accountId });

      /** Sends requests to each node, and returns the thresholds of all alerts once every e-mail is sent. */
      const spend = async (requests: number) => {
        for (let round = 0; round < requests; round++)
          await send(`${nodes[round % nodes.length]!.urls.production}/pets`, { key });
        await Promise.all(nodes.map(node => node.app.usage.write()));
        await waitUntil(async () => {
          const { messages, mail } = await nextDueTimes(production);
          return messages === null && mail === null;
        });
        const events = await eventsOf<{ account: { threshold: number } }>(production, 'account', accountId);
        const alerts = events.filter(({ action }) => action === 'usage_alert');
        return {
          events: alerts.map(({ data: { account } }) => account.threshold).sort(byNumber),
          mails: smtp.mails.map(thresholdOf).sort(byNumber),
        };
      };
      assert.deepEqual(await spend(PER_DAY * 0.8 - 1), { events: [], mails: [] });
      assert.deepEqual(await spend(2), { events: [80], mails: [80] });
      // Each node rejects requests, and notices that the day is used up.
      assert.deepEqual(await spend(6), { events: [80, 100], mails: [80, 100] });
      assert.deepEqual(await spend(4), { events: [80, 100], mails: [80, 100] });
      if (clock === undefined) return;
      clock.advance(DAY_MS);
      assert.deepEqual(await spend(PER_DAY + 2), { events: [80, 80, 100, 100], mails: [80, 80, 100, 100] });
    });
  });
});

const byNumber = (one: number, other: number) => one - other;

/** Returns which threshold an e-mail is about. */
function thresholdOf({ to, text, headers }: ReceivedMail): number {
  assert.deepEqual(to, [email]);
  assert.match(
    headers.get('subject')!,
    /^Your account has used (80 %|all) of its 10 requests to production for today$/,
  );
  assert.match(text, /has used (80 %|all) of its 10 requests to production for today/);
  return text.includes('all of its') ? 100 : 80;
}
