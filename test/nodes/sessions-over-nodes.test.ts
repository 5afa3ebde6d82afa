import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { createAccount } from '../../src/access/accounts/accounts.ts';
import { PasswordHasher } from '../../src/access/sessions/password-hasher.ts';
import { storePassword } from '../../src/access/sessions/passwords.ts';
import { withoutPostgres } from '../support/engines.ts';
import { overPostgres } from '../support/engines-over-http.ts';
import { describeUnless } from '../support/selection.ts';
import { type Reply, send, serve, type TestService } from '../support/serving.ts';
import { valkeyUrl, withoutValkey } from '../support/valkey-server.ts';

/** The URL of all nodes behind a load balancer. */
const PUBLIC_URL = 'https://store.example.org';
const PASSWORD = 'correct horse battery';

/** A browser behind a load balancer, which can send each request to another node. */
class Browser {
  readonly #cookies = new Map<string, string>();

  async open(node: TestService, path: string): Promise<Reply> {
    return this.#keep(await send(originOf(node) + path, { headers: this.#headers() }));
  }

  /** Sends a form with the token that the page has at `path` on `from`. */
  async submit(node: TestService, action: string, form: Record<string, string>, { token }: { token: string }) {
    return this.#keep(
      await send(originOf(node) + action, {
        method: 'POST',
        headers: {
          ...this.#headers(),
          'Content-Type': 'application/x-www-form-urlencoded',
          'Sec-Fetch-Site': 'same-origin',
        },
        body: new URLSearchParams({ token, ...form }).toString(),
      }),
    );
  }

  /** Returns the token of the forms on a page. */
  async form(node: TestService, path: string): Promise<{ token: string; text: string }> {
    const { status, text } = await this.open(node, path);
    assert.equal(status, 200, text);
    return { token: /name="token" value="([^"]+)"/.exec(text)![1]!, text };
  }

  async signIn(email: string, shown: TestService, sent: TestService, password = PASSWORD): Promise<void> {
    const reply = await this.submit(sent, '/sign-in', { email, password }, await this.form(shown, '/sign-in'));
    assert.equal(reply.status, 303, reply.text);
  }

  #headers() {
    return { Accept: 'text/html', Cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ') };
  }

  #keep(reply: Reply): Reply {
    for (const cookie of reply.all['set-cookie'] ?? []) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
      if (value === '') this.#cookies.delete(name!);
      else this.#cookies.set(name!, value!);
    }
    return reply;
  }
}

overPostgres(engine => {
  describeUnless(withoutPostgres ?? withoutValkey, 'a session over two nodes', () => {
    let nodes: readonly [TestService, TestService];
    before(async () => {
      const environment = {
        ...(await engine.settings()),
        PETSTORE_VALKEY_URL: valkeyUrl,
        PETSTORE_PUBLIC_URL: PUBLIC_URL,
      };
      nodes = [await serve({ environment }), await serve({ environment })];
    });
    after(() => Promise.all(nodes.map(node => node.stop())));

    /** Creates an account with a password. Returns its e-mail address. */
    async function person(name: string): Promise<string> {
      const email = `${name}@example.org`;
      const hash = await new PasswordHasher().hash(PASSWORD, '192.0.2.1');
      await nodes[0].app.databases.production.write(async tx => {
        const { id } = await createAccount(tx, { email, name });
        await storePassword(tx, id, hash);
      });
      return email;
    }

    it('signs in with the form of one node at the other one, and is valid at both', async () => {
      const [a, b] = nodes;
      const browser = new Browser();
      await browser.signIn(await person('ann'), a, b);
      for (const node of nodes) assert.equal((await browser.open(node, '/account')).status, 200);
      const rename = await browser.submit(b, '/account/name', { name: 'Ann Lee' }, await browser.form(a, '/account'));
      assert.equal(rename.status, 303, rename.text);
      assert.match((await browser.open(a, '/account')).text, /Ann Lee/);
      const forged = await browser.submit(b, '/account/name', { name: 'Eve' }, await new Browser().form(a, '/sign-in'));
      assert.equal(forged.status, 403, 'the token of another browser');
    });

    it('is rejected by every node from the next request on once one node has ended it', async () => {
      const [a, b] = nodes;
      const email = await person('ben');
      const [lost, own] = [new Browser(), new Browser()];
      await lost.signIn(email, a, a);
      await own.signIn(email, b, b);
      assert.equal((await lost.open(a, '/account')).status, 200);
      const sessions = await own.form(b, '/sessions');
      const [, id] = /action="\/sessions\/(\d+)\/end"/.exec(sessions.text)!;
      assert.equal((await own.submit(b, `/sessions/${id}/end`, {}, sessions)).status, 303);
      assertSignedOut(await lost.open(a, '/account'));
      assert.equal((await own.open(a, '/account')).status, 200);

      const account = await own.form(a, '/account');
      assert.equal((await own.submit(b, '/sign-out', {}, account)).status, 303);
      assertSignedOut(await own.open(a, '/account'));
    });

    it('ends at every node when the password changes in another browser', async () => {
      const [a, b] = nodes;
      const email = await person('cleo');
      const [first, second, changing] = [new Browser(), new Browser(), new Browser()];
      await first.signIn(email, a, a);
      await second.signIn(email, b, b);
      await changing.signIn(email, a, a);
      for (const browser of [first, second])
        for (const node of nodes) assert.equal((await browser.open(node, '/account')).status, 200);
      const form = { current: PASSWORD, password: 'another long password' };
      const changed = await changing.submit(b, '/account/password', form, await changing.form(a, '/account'));
      assert.equal(changed.status, 303, changed.text);
      for (const other of [first, second]) {
        assertSignedOut(await other.open(a, '/account'));
        assertSignedOut(await other.open(b, '/account'));
      }
      for (const node of nodes) assert.equal((await changing.open(node, '/account')).status, 200);
      await first.signIn(email, a, a, form.password);
    });
  });
});

function originOf(node: TestService): string {
  return new URL(node.urls.production).origin;
}

function assertSignedOut({ status, headers }: Reply): void {
  assert.equal(status, 303);
  assert.match(String(headers.location), /\/sign-in\?next=%2Faccount$/);
}
