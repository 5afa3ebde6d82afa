import { nowOf } from '../../access/deployment.ts';
import { html } from '../../lib/html/html.ts';
import { durationIn } from '../../lib/time.ts';
import { confirmPath } from '../../store/visitor-messages/email-job.ts';
import { findWaiting, sendConfirmed, WAITING_MS } from '../../store/visitor-messages/visitor-messages.ts';
import { publicForm, type View } from '../page.ts';

/**
 * The page that the link in an e-mail to a visitor opens. Opening it changes nothing, because programs that scan e-mail
 * open links.
 */
export const confirmMessagePage = publicForm({
  path: confirmPath('{secret}'),
  showsSecret: true,
  title: 'Send your message',
  // It acts for the holder of the secret.
  withoutToken: true,
  async show({ deployment, parameters }) {
    const secret = parameters['secret']!;
    const message = await findWaiting(deployment.database, secret, nowOf(deployment));
    if (message === undefined) return unknownLink;
    return {
      body: html`<p>You wrote this as <strong><bdi>${message.name}</bdi></strong>. Replies go to <strong>${message.email}</strong>.</p>
<blockquote class="card message" dir="auto">${message.text}</blockquote>
<form method="post" action="${confirmPath(secret)}">
<button>Send the message</button>
</form>
<p class="quiet">You did not write this? Close this page: the message is deleted and nobody gets it.</p>`,
      styles: ['animals.css'],
    };
  },
  async submit({ deployment, parameters }) {
    const message = await deployment.database.write(tx => sendConfirmed(tx, parameters['secret']!));
    if (message === undefined) return unknownLink;
    deployment.messageQueued?.();
    return { location: `/animals/${message.petId}?asked=sent#ask` };
  },
});

const unknownLink: View = {
  title: 'This link does not work',
  status: 404,
  body: html`<p>The message was sent already, or the link is more than ${durationIn('day', WAITING_MS, 'words')} old.</p>
<p><a href="/animals">Find the animal and write again</a></p>`,
};
