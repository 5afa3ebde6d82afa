import { html } from '../../lib/html/html.ts';
import { findMailStop, mailStopPath, stopMail } from '../../store/inbox/mail-stops.ts';
import { publicForm, type View } from '../page.ts';

/**
 * The page on which the recipient of a reply stops further ones. Opening it changes nothing, because programs that scan
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
  async show({ deployment, parameters }) {
    const secret = parameters['secret']!;
    const isStopped = await findMailStop(deployment.database, secret);
    if (isStopped === undefined) return unknownLink;
    if (isStopped) return stoppedView;
    return {
      body: html`<p>Shelters and owners of animals reply to your messages by e-mail through the Pet Store. Press the button to get no more of these replies, from anyone.</p>
<form method="post" action="${mailStopPath(secret)}">
<button>Stop e-mails</button>
</form>`,
    };
  },
  async submit({ deployment, parameters }) {
    const isKnown = await deployment.database.write(tx => stopMail(tx, parameters['secret']!));
    return isKnown ? stoppedView : unknownLink;
  },
});

const stoppedView: View = {
  title: 'No more e-mails',
  body: html`<p>Nobody can reply to this e-mail address through the Pet Store any more.</p>`,
};

const unknownLink: View = {
  title: 'This link does not work',
  status: 404,
  body: html`<p>The link is not complete, or too old. Open the link of a newer e-mail.</p>`,
};
