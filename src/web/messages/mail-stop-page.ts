import { html } from '../../lib/html/html.ts';
import { findMailStop, type MailStop, mailStopPath, stopMail } from '../../store/inbox/mail-stops.ts';
import { NOTICES_PATH } from '../../store/inbox/notice-job.ts';
import { publicForm, type View } from '../page.ts';

/**
 * The page on which the recipient of a reply, or a member who gets e-mail about messages, stops further e-mails. Opening it changes nothing, because programs that scan
 * e-mail open links; e-mail programs send its form (RFC 8058).
 */
export const mailStopPage = publicForm({
  path: mailStopPath('{secret}'),
  on: 'portal',
  showsSecret: true,
  title: 'Stop e-mails',
  // It acts for the holder of the secret.
  withoutToken: true,
  withoutFields: true,
  async show({ site, parameters }) {
    const secret = parameters['secret']!;
    const stop = await findMailStop(site.accounts, secret);
    if (stop === undefined) return unknownLink;
    if (stop.isStopped) return stoppedView(stop);
    return {
      body: html`<p>${
        stop.member === undefined
          ? 'Shelters and owners of animals reply to your messages by e-mail through the Pet Store. Press the button to get no more of these replies, from anyone.'
          : 'The Pet Store sends you e-mail about new messages to your account. Press the button to get no more of it.'
      }</p>
<form method="post" action="${mailStopPath(secret)}">
<button>Stop e-mails</button>
</form>`,
    };
  },
  async submit({ site, parameters }) {
    const stop = await site.accounts.write(tx => stopMail(tx, parameters['secret']!));
    return stop === undefined ? unknownLink : stoppedView(stop);
  },
});

function stoppedView({ member }: MailStop): View {
  return {
    title: 'No more e-mails',
    body:
      member === undefined
        ? html`<p>Nobody can reply to this e-mail address through the Pet Store any more.</p>`
        : html`<p>You get no more e-mail about new messages. You can <a href="${NOTICES_PATH}">change that</a> when you are signed in.</p>`,
  };
}

const unknownLink: View = {
  title: 'This link does not work',
  status: 404,
  body: html`<p>The link is not complete, or too old. Open the link of a newer e-mail.</p>`,
};
