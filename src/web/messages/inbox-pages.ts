import { mailtoUrl } from '../../lib/email.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { idOf, type MessageRow, messageIdOf } from '../../model/message.ts';
import { listEveryMessage } from '../../store/messages/list.ts';
import { getMessage } from '../../store/messages/messages.ts';
import { visitorPartsOf } from '../../store/visitor-messages/visitor-messages.ts';
import { found } from '../found.ts';
import { listPage, pageLinks } from '../lists.ts';
import { type AccountVisit, accountPage, ownActor } from '../page.ts';
import { badge, facts, table } from '../parts.ts';
import { petLink, petsNamed } from '../pets/names.ts';
import { excerpt } from './excerpt.ts';

const PATH = '/shelter/messages';

/** The messages to the account, about its animals and from the store. */
export const inboxPage = accountPage({
  path: PATH,
  permission: 'read',
  title: 'Inbox',
  menu: 'desk',
  async show(visit) {
    const { deployment, account } = visit;
    const inbox = { accountId: account.id, box: 'inbox', newestFirst: true } as const;
    const page = await listEveryMessage(deployment.database, inbox, listPage(visit));
    const pets = await petsOf(visit, page.rows);
    const columns = {
      Message: (message: MessageRow) =>
        html`<a href="${PATH}/${messageIdOf(message.id)}"><bdi>${excerpt(textOf(message))}</bdi></a>`,
      About: ({ petId }: MessageRow) => petId !== null && petLink(petId, pets),
      From: senderOf,
      Sent: ({ createdAt }: MessageRow) => timeHtml(createdAt),
    };
    const empty = 'No one has written to you. Questions that people ask on the pages of your animals arrive here.';
    return {
      description: 'What people ask about your animals.',
      body: html`${table('Messages', columns, page.rows, empty)}
${pageLinks(visit, page)}`,
    };
  },
});

/** A message to the account. */
export const inboxMessagePage = accountPage({
  path: `${PATH}/{messageId}`,
  permission: 'read',
  title: 'Message',
  async show(visit) {
    const message = await ownMessage(visit);
    if (message === undefined) return undefined;
    const { petId, replyTo, createdAt } = message;
    const pets = await petsOf(visit, [message]);
    const name = petId === null ? undefined : pets.get(petId)?.name;
    return {
      title: name === undefined ? 'Message' : `Message about ${name}`,
      body: html`<p><a href="${PATH}">All messages</a></p>
${facts([
  ['From', senderOf(message)],
  ['About', petId === null ? undefined : petLink(petId, pets)],
  ['Sent', timeHtml(createdAt)],
])}
<h2>Text</h2>
<blockquote class="card message" dir="auto">${textOf(message)}</blockquote>
${replyTo !== null && html`<p><a class="button" href="${mailtoUrl(replyTo, name && `Your message about ${name}`)}">Reply by e-mail</a></p>`}`,
    };
  },
});

async function ownMessage(visit: AccountVisit): Promise<MessageRow | undefined> {
  const { deployment, account, parameters } = visit;
  const id = parameters['messageId']!;
  if (!/^msg_[1-9]\d{0,14}$/.test(id)) return undefined;
  const message = await found(getMessage(deployment.database, ownActor(visit), idOf(id)));
  return message?.toAccountId === account.id ? message : undefined;
}

function petsOf(visit: AccountVisit, messages: readonly MessageRow[]): ReturnType<typeof petsNamed> {
  return petsNamed(
    visit,
    messages.flatMap(({ petId }) => petId ?? []),
  );
}

/** Returns the text that the sender wrote, without our introduction to those of visitors. */
function textOf(message: MessageRow): string {
  return visitorPartsOf(message)?.text ?? message.message;
}

function senderOf(message: MessageRow): Html {
  const { accountId, replyTo } = message;
  const visitor = visitorPartsOf(message);
  if (visitor !== undefined) {
    const state = !visitor.isConfirmed && html` ${badge('warn', 'Address not confirmed')}`;
    return html`<bdi>${visitor.name}</bdi>, <bdi>${replyTo}</bdi>${state}`;
  }
  if (accountId === null) return html`The store`;
  return replyTo === null ? html`Account ${accountId}, without an address` : html`<bdi>${replyTo}</bdi>`;
}
