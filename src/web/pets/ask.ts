import { type Html, html } from '../../lib/html/html.ts';
import { Problem } from '../../lib/http/problem.ts';
import { NAME_LENGTH_MAX } from '../../lib/text.ts';
import { durationIn } from '../../lib/time.ts';
import type { FullPet } from '../../model/pet.ts';
import { boundOf } from '../../model/plan.ts';
import { sendMessage } from '../../store/messages/messages.ts';
import {
  keepUntilConfirmed,
  sendUnconfirmed,
  VISITOR_TEXT_LENGTH_MAX,
  visitorMessageErrors,
  WAITING_MS,
} from '../../store/visitor-messages/visitor-messages.ts';
import { enteredText, errorSummary, field, notice, textArea } from '../forms.ts';
import type { Visit } from '../page.ts';

/** The values and errors of a submitted form. */
export interface Attempt {
  readonly name: string;
  readonly email: string;
  readonly text: string;
  readonly errors: Readonly<Partial<Record<'name' | 'email' | 'text', string>>>;
  /** The reason for which a valid message was rejected. */
  readonly refusal?: Problem;
}

/** The result of sending a message; a query parameter of the page that shows it. */
type Outcome = 'sent' | 'confirm';

/**
 * Sends a message about an animal to its owner, or stores it until its sender confirms it. Returns the errors of the
 * form, if any.
 */
export async function ask(visit: Visit, petId: number): Promise<Outcome | Attempt> {
  const account = accountOf(visit);
  const own = account && { name: account.name, email: account.email };
  const sender = own ?? { name: enteredText(visit, 'name'), email: enteredText(visit, 'email') };
  const message = { ...sender, text: enteredText(visit, 'message') };
  const errors = visitorMessageErrors(message);
  if (Object.keys(errors).length > 0) return { ...message, errors };
  try {
    return await deliver(visit, { petId, ...message });
  } catch (error) {
    const isLimit = error instanceof Problem && [409, 429].includes(error.status);
    if (isLimit) return { ...message, errors, refusal: error };
    throw error;
  }
}

async function deliver(visit: Visit, message: Parameters<typeof keepUntilConfirmed>[1]['message']): Promise<Outcome> {
  const { deployment, site, request } = visit;
  const { database } = deployment;
  const account = accountOf(visit);
  if (account !== undefined) {
    const { id: accountId, admin, plan } = account;
    const bounds = {
      messagesPerRecipient: boundOf(deployment.bounds, { plan }, 'messagesPerRecipient'),
      storedBytes: boundOf(deployment.bounds, { plan }, 'storedBytes'),
    };
    const { petId, text, email: replyTo } = message;
    const origin = {
      accountId,
      sessionId: visit.signedIn!.session.id,
      requestId: request.requestId,
      address: request.address,
    };
    await database.write(
      tx => sendMessage(tx, { accountId, admin }, { petId, message: text, replyTo }, bounds),
      origin,
    );
    deployment.messageQueued?.();
    return 'sent';
  }
  const sent = { message, address: request.address };
  if (site.emailSender !== undefined && deployment.name === 'production') {
    await database.write(tx => keepUntilConfirmed(tx, sent, request.publicUrl));
    site.emailQueued();
    return 'confirm';
  }
  await database.write(tx => sendUnconfirmed(tx, sent));
  deployment.messageQueued?.();
  return 'sent';
}

/**
 * Returns the account that sends a message; `undefined` for a suspended account, which writes like any other visitor.
 */
function accountOf({ signedIn }: Visit) {
  return signedIn?.account.suspendedAt === undefined ? signedIn?.account : undefined;
}

/** Returns the form, or the result of the message that it sent. */
export function askView(visit: Visit, pet: Pick<FullPet, 'id' | 'name'>, attempt?: Attempt): Html {
  const account = accountOf(visit);
  const { name, email, text } = attempt?.errors ?? {};
  return html`<section id="ask" class="card ask" aria-labelledby="ask-title">
<h2 id="ask-title">Ask about <bdi>${pet.name}</bdi></h2>
${outcomeNotice(visit.query.get('asked'))}
${errorSummary({ name, email, message: text, '': attempt?.refusal?.message })}
<form method="post" action="/animals/${pet.id}#ask" class="stacked">
${
  account !== undefined
    ? html`<p>You write as <strong><bdi>${account.name}</bdi></strong>. Replies go to <strong>${account.email}</strong>.</p>`
    : [
        field({
          name: 'name',
          label: 'Your name',
          value: attempt?.name,
          error: attempt?.errors.name,
          autocomplete: 'name',
          maxLength: NAME_LENGTH_MAX,
        }),
        field({
          name: 'email',
          label: 'Your e-mail address',
          type: 'email',
          value: attempt?.email,
          hint: 'The owner sees this address and replies to it.',
          error: attempt?.errors.email,
          autocomplete: 'email',
          maxLength: 254,
        }),
      ]
}
${textArea({ name: 'message', label: 'Your message', value: attempt?.text, error: attempt?.errors.text, maxLength: VISITOR_TEXT_LENGTH_MAX })}
<button>Send</button>
</form>
</section>`;
}

function outcomeNotice(asked: string | null): Html | undefined {
  if (asked === 'sent')
    return notice('status', html`<p>Your message is with the owner. Replies come to your e-mail address.</p>`);
  if (asked !== 'confirm') return undefined;
  return notice(
    'status',
    html`<p><strong>One more step.</strong> We sent a link to your e-mail address. Open it within ${durationIn('day', WAITING_MS, 'words')} to send your message.</p>`,
  );
}
