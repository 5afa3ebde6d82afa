import { type Html, html } from '../../lib/html/html.ts';
import { idOf, type MessageRow, type ReceivedMessage } from '../../model/message.ts';
import { getMessage } from '../../store/messages/messages.ts';
import { visitorPartsOf } from '../../store/visitor-messages/visitor-messages.ts';
import { found } from '../found.ts';
import { type AccountVisit, ownActor } from '../page.ts';
import { badge } from '../parts.ts';
import { petsNamed } from '../pets/names.ts';

export const styles = ['inbox.css'];

/** Returns the stored id of a message in a path or a query; `undefined` if the text is not an id. */
export function storedIdOf(text: string | null | undefined): number | undefined {
  return text != null && /^msg_[1-9]\d{0,14}$/.test(text) ? idOf(text) : undefined;
}

/** Returns the message in the inbox of the account that the path names; `undefined` if there is none. */
export async function ownMessage(visit: AccountVisit): Promise<ReceivedMessage | undefined> {
  const { deployment, account, parameters } = visit;
  const id = storedIdOf(parameters['messageId']);
  if (id === undefined) return undefined;
  const message = await found(getMessage(deployment.database, ownActor(visit), id));
  return message?.toAccountId === account.id ? (message as ReceivedMessage) : undefined;
}

export function petsOf(visit: AccountVisit, messages: readonly MessageRow[]): ReturnType<typeof petsNamed> {
  return petsNamed(
    visit,
    messages.flatMap(({ petId }) => petId ?? []),
  );
}

/** Returns the name of the sender, with the address and its state. */
export function senderOf(message: MessageRow): Html {
  const { accountId, replyTo } = message;
  const visitor = visitorPartsOf(message);
  if (visitor !== undefined) {
    const state = !visitor.isConfirmed && html` ${badge('warn', 'Address not confirmed')}`;
    return html`<bdi>${visitor.name}</bdi>, <bdi>${replyTo}</bdi>${state}`;
  }
  if (accountId === null) return html`The store`;
  return replyTo === null ? html`Account ${accountId}, without an address` : html`<bdi>${replyTo}</bdi>`;
}
