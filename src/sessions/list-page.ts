import { html, timeHtml } from '../lib/html/html.ts';
import { DAY_MS } from '../lib/time.ts';
import { form } from '../web/forms.ts';
import { type AccountVisit, accountPage, type View } from '../web/page.ts';
import { nowOf } from '../web/site.ts';
import { IDLE_MS, type Session } from './session.ts';
import { endSession, endSessions, listSessions } from './sessions.ts';
import { browserName } from './user-agent.ts';
import { doneNotice } from './visits.ts';

/** The browsers that are signed in. */
export const sessionsPage = accountPage({
  path: '/sessions',
  title: 'Sessions',
  menu: 'account',
  show: sessionsView,
});

/** Signs one browser out. */
export const endSessionPage = accountPage({
  path: '/sessions/{sessionId}/end',
  title: 'End a session',
  async submit({ site, account, parameters, signedIn }) {
    const id = Number(parameters['sessionId']);
    if (!Number.isSafeInteger(id)) return undefined;
    if (!(await site.accounts.write(tx => endSession(tx, account.id, id)))) return undefined;
    return { location: id === signedIn.session.id ? '/sign-in' : '/sessions?done=ended' };
  },
});

/** Signs all other browsers out. */
export const endOtherSessionsPage = accountPage({
  path: '/sessions/end-others',
  title: 'End all other sessions',
  async submit({ site, account, signedIn }) {
    await site.accounts.write(tx => endSessions(tx, account.id, signedIn.session.id));
    return { location: '/sessions?done=others' };
  },
});

const done = { ended: 'The session has ended.', others: 'All other sessions have ended.' };

async function sessionsView(visit: AccountVisit): Promise<View> {
  const { site, account, signedIn } = visit;
  const sessions = await listSessions(site.accounts, account.id, nowOf(site));
  // This browser first.
  const ordered = [signedIn.session, ...sessions.filter(({ id }) => id !== signedIn.session.id)];
  return {
    styles: ['account.css'],
    body: html`${doneNotice(visit, done)}
<p class="lead">The browsers that are signed in to your account. End those that you do not know, and <a href="/account#new-password">change your password</a>.</p>
<ul class="sessions">${ordered.map(session => sessionView(visit, session))}</ul>
${
  sessions.length > 1 &&
  form(
    visit,
    { action: '/sessions/end-others', submit: 'End all other sessions', className: 'inline', danger: true },
    undefined,
  )
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
