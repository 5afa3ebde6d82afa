import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { createAccount } from '../../src/access/accounts/accounts.ts';
import { acceptInvitation, invite } from '../../src/access/people/invitations.ts';
import { cookieNames, formTokenOf } from '../../src/access/sessions/cookies.ts';
import { newSecret } from '../../src/access/sessions/session.ts';
import { endSessions, startSession } from '../../src/access/sessions/sessions.ts';
import type { NewAccount } from '../../src/model/account.ts';
import type { Role } from '../../src/model/roles.ts';
import { type Reply, send, type TestService } from '../support/serving.ts';

/** Someone who opens pages over HTTP, with or without a browser. */
export interface Visitor {
  /** 0 for someone who has no account. */
  readonly accountId: number;
  /** The secret of the cookie, of the session or of the visitor. */
  readonly secret: string;
  /** The cookie, as a browser takes it. */
  readonly cookie: Parameters<BrowserContext['addCookies']>[0][number];
  open(path: string, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  /** Sends a form with the visitor's token; `null` leaves the token out. */
  submit: Submit;
  /** Sends it as a form that could have a file. */
  submitMultipart: Submit;
  /** Opens an empty page of a browser with the visitor's cookie. */
  newPage(browser: Browser, options?: BrowserContextOptions): Promise<Page>;
}

type Submit = (
  path: string,
  form?: Readonly<Record<string, string>> | null,
  headers?: Readonly<Record<string, string>>,
) => Promise<Reply>;

let accounts = 0;

/** Returns someone who is signed in to a new account. */
export async function signedIn(service: TestService, account: Partial<NewAccount> = {}): Promise<Visitor> {
  const { id } = await service.app.databases.production.write(tx =>
    createAccount(tx, { email: `person-${++accounts}@example.org`, name: 'A person', ...account }),
  );
  return signedInTo(service, id);
}

/** Returns someone who is signed in to an account, with a new session: its owner, or the person given. */
export async function signedInTo(service: TestService, accountId: number, personId = accountId): Promise<Visitor> {
  const { secret } = await service.app.databases.production.write(tx =>
    startSession(tx, personId, { address: '127.0.0.1', userAgent: 'Test' }, accountId),
  );
  return visitor(service, { accountId, secret }, 'session');
}

/** Returns a new member of an account, who is signed in, with the id of the person. */
export async function signedInAs(service: TestService, accountId: number, role: Role) {
  const { production } = service.app.databases;
  const email = `${role}-${++accounts}@example.org`;
  const { id } = (await production.write(async tx => {
    const secret = await invite(tx, { accountId, invitedBy: accountId, role, email }, undefined);
    return acceptInvitation(tx, secret!, { name: `A ${role}`, hash: 'x' }, undefined);
  }))!;
  return { personId: id, email, ...(await signedInTo(service, accountId, id)) };
}

/** Ends every session of an account. */
export async function endAllSessions(service: TestService, accountId: number): Promise<void> {
  await service.app.databases.production.write(tx => endSessions(tx, accountId, 0));
}

/** Returns someone who is not signed in. */
export function anonymous(service: TestService): Visitor {
  return visitor(service, { accountId: 0, secret: newSecret() }, 'visitor');
}

function visitor(
  service: TestService,
  { accountId, secret }: Pick<Visitor, 'accountId' | 'secret'>,
  cookie: 'session' | 'visitor',
): Visitor {
  const origin = new URL(service.urls.production).origin;
  const name = cookieNames(origin)[cookie];
  const own = { Cookie: `${name}=${secret}`, Accept: 'text/html' };
  const submitAs =
    (type: string, encode: (fields: Record<string, string>) => string): Submit =>
    (path, form = {}, headers = {}) =>
      send(origin + path, {
        method: 'POST',
        headers: { ...own, 'Content-Type': type, 'Sec-Fetch-Site': 'same-origin', ...headers },
        body: encode(form === null ? {} : { token: formTokenOf(secret), ...form }),
      });
  const browserCookie = { name, value: secret, url: origin.replace('http:', 'https:') };
  return {
    accountId,
    secret,
    cookie: browserCookie,
    open: (path, headers) => send(origin + path, { headers: { ...own, ...headers } }),
    submit: submitAs('application/x-www-form-urlencoded', fields => new URLSearchParams(fields).toString()),
    submitMultipart: submitAs('multipart/form-data; boundary=b', fields => {
      const parts = Object.entries(fields).map(
        ([name, value]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
      );
      return `${parts.join('')}--b--\r\n`;
    }),
    async newPage(browser, options) {
      const context = await browser.newContext(options);
      await context.addCookies([browserCookie]);
      return context.newPage();
    },
  };
}
