import { IDLE_MS, type Session } from '../../access/sessions/session.ts';
import { endSession, endSessions, listSessions } from '../../access/sessions/sessions.ts';
import { html, timeHtml } from '../../lib/html/html.ts';
import { DAY_MS } from '../../lib/time.ts';
import { doneNotice, form } from '../forms.ts';
import { type AccountVisit, accountPage, type View } from '../page.ts';
import { nowOf } from '../site.ts';

/** The signed-in browsers of the person. */
export const sessionsPage = accountPage({
  path: '/sessions',
  permission: 'own',
  title: 'Sessions',
  menu: 'account',
  show: sessionsView,
});

/** Signs one browser out. */
export const endSessionPage = accountPage({
  path: '/sessions/{sessionId}/end',
  permission: 'own',
  title: 'End a session',
  async submit({ site, parameters, signedIn }) {
    const id = Number(parameters['sessionId']);
    if (!Number.isSafeInteger(id)) return undefined;
    if (!(await site.accounts.write(tx => endSession(tx, signedIn.person.id, id)))) return undefined;
    return { location: id === signedIn.session.id ? '/sign-in' : '/sessions?done=ended' };
  },
});

/** Signs all other browsers out. */
export const endOtherSessionsPage = accountPage({
  path: '/sessions/end-others',
  permission: 'own',
  title: 'End all other sessions',
  async submit({ site, signedIn }) {
    await site.accounts.write(tx => endSessions(tx, signedIn.person.id, signedIn.session.id));
    return { location: '/sessions?done=others' };
  },
});

const done = { ended: 'The session has ended.', others: 'All other sessions have ended.' };

async function sessionsView(visit: AccountVisit): Promise<View> {
  const { site, signedIn } = visit;
  const sessions = await listSessions(site.accounts, signedIn.person.id, nowOf(site));
  // This browser first.
  const ordered = [signedIn.session, ...sessions.filter(({ id }) => id !== signedIn.session.id)];
  return {
    styles: ['account.css'],
    body: html`${doneNotice(visit, done)}
<p class="lead">The browsers in which you are signed in. End the sessions that you do not know, and <a href="/account#new-password">change your password</a>.</p>
<ul class="sessions">${ordered.map(session => sessionView(visit, session))}</ul>
${
  sessions.length > 1 &&
  form(visit, { action: '/sessions/end-others', submit: 'End all other sessions', className: 'inline', danger: true })
}
<p class="quiet">A session ends after ${IDLE_MS / DAY_MS} days without a visit.</p>`,
  };
}

function sessionView(visit: AccountVisit, { id, userAgent, address, createdAt, lastSeenAt }: Session) {
  const isOwn = id === visit.signedIn.session.id;
  return html`<li class="card">
<div><strong>${browserName(userAgent)}</strong>${isOwn && html` <span class="badge good">This browser</span>`}
<p class="hint">${address} · signed in ${timeHtml(createdAt)} · last seen about ${timeHtml(lastSeenAt)}</p></div>
${
  !isOwn &&
  form(
    visit,
    { action: `/sessions/${id}/end`, submit: 'End', className: 'inline', danger: true },
    html`<span class="sr-only">${browserName(userAgent)}, ${address}</span>`,
  )
}
</li>
`;
}

const browsers = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['FxiOS/', 'Firefox'],
  ['CriOS/', 'Chrome'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
  ['curl/', 'curl'],
] as const;

const systems = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const;

/**
 * Returns the common name of the browser that sent a `User-Agent`: `Firefox on Linux`. More specific names come first.
 */
function browserName(userAgent: string): string {
  const nameIn = (names: readonly (readonly [mark: string, name: string])[]) =>
    names.find(([mark]) => userAgent.includes(mark))?.[1];
  const [browser, system] = [nameIn(browsers), nameIn(systems)];
  if (browser === undefined) return system === undefined ? 'Unknown browser' : `A browser on ${system}`;
  return system === undefined ? browser : `${browser} on ${system}`;
}
