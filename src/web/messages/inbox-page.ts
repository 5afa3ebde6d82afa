import { memberNames } from '../../access/people/members.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { boundedText } from '../../lib/text.ts';
import { messageIdOf, type ReceivedMessage } from '../../model/message.ts';
import {
  countUnread,
  type InboxFolder,
  inboxFolders,
  listInbox,
  petsInInbox,
  UNREAD_COUNTED_MAX,
} from '../../store/inbox/list.ts';
import { NOTICES_PATH } from '../../store/inbox/notice-job.ts';
import { writtenTextOf } from '../../store/visitor-messages/visitor-messages.ts';
import { hidden, select } from '../forms.ts';
import { idOf, listPage, pageLinks } from '../lists.ts';
import { type AccountVisit, accountPage } from '../page.ts';
import { type Columns, table, tabs } from '../parts.ts';
import { MESSAGES_PATH } from '../paths.ts';
import { type NamedPet, petLink, petsNamed } from '../pets/names.ts';
import { excerpt } from './excerpt.ts';
import { petsOf, senderOf, styles } from './parts.ts';
import { stepForm, stepNotice, stepsFor } from './steps.ts';

const titles: Readonly<Record<InboxFolder, string>> = {
  open: 'Open',
  unread: 'Unread',
  archived: 'Archived',
  spam: 'Spam',
};

const empty: Readonly<Record<InboxFolder, string>> = {
  open: 'No message waits for you. Questions that people ask on the pages of your animals arrive here.',
  unread: 'You have read all messages.',
  archived: 'No message is archived.',
  spam: 'No message is spam.',
};

/** The messages to the account, about its animals and from the store. */
export const inboxPage = accountPage({
  path: MESSAGES_PATH,
  permission: 'messages',
  shownFor: 'read',
  title: 'Inbox',
  menu: 'desk',
  async show(visit) {
    const { deployment, account, query } = visit;
    const { database } = deployment;
    const folder = inboxFolders.find(name => name === query.get('show')) ?? 'open';
    const petId = idOf(query.get('animal'));
    const page = await listInbox(database, account.id, { folder, petId }, listPage(visit));
    const pets = await petsOf(visit, page.rows);
    const names = await memberNames(visit.site.accounts, account.id);
    const columns: Columns<ReceivedMessage> = {
      Message: message => messageLink(message),
      About: ({ petId }) => petId !== null && petLink(petId, pets),
      From: senderOf,
      Answers: ({ assignedTo }) => assignedTo !== null && html`<bdi>${names.get(assignedTo)}</bdi>`,
      Sent: ({ createdAt }) => timeHtml(createdAt),
      Action: message => stepForm(visit, messageIdOf(message.id), stepsFor(message)[0]!),
    };
    const none = petId === undefined ? empty[folder] : 'No message about this animal is here.';
    return {
      description: 'What people ask about your animals.',
      styles,
      body: html`${stepNotice(visit)}
${folderTabs(folder, petId, await countUnread(database, account.id))}
${await petFilter(visit, folder, petId)}
${folder === 'spam' && html`<p class="hint">Messages of <a href="${MESSAGES_PATH}/blocked">blocked senders</a> arrive here.</p>`}
${table('Messages', columns, page.rows, none)}
${pageLinks(visit, page)}
<p class="hint">Choose how you learn of new messages: <a href="${NOTICES_PATH}">Notifications</a>.</p>`,
    };
  },
});

function messageLink(message: ReceivedMessage): Html {
  const isUnread = message.unread !== null && message.folder === null;
  const link = html`<a href="${MESSAGES_PATH}/${messageIdOf(message.id)}"><bdi>${excerpt(writtenTextOf(message))}</bdi></a>`;
  return isUnread
    ? html`<span class="unread"><span class="sr-only">Unread: </span>${link}</span>`
    : html`<span class="read">${link}</span>`;
}

function folderTabs(current: InboxFolder, petId: number | undefined, unread: number): Html {
  const count = boundedText(unread, UNREAD_COUNTED_MAX);
  const all = inboxFolders.map(folder => ({
    href: listPath(folder, petId),
    title: html`${titles[folder]}${folder === 'unread' && unread > 0 && html` <span class="count">${count}</span>`}`,
    isCurrent: folder === current,
  }));
  return tabs('Messages', all);
}

function listPath(folder: InboxFolder, petId: number | undefined): string {
  const query = new URLSearchParams();
  if (folder !== 'open') query.set('show', folder);
  if (petId !== undefined) query.set('animal', String(petId));
  return query.size === 0 ? MESSAGES_PATH : `${MESSAGES_PATH}?${query}`;
}

/** Returns the form that shows the messages about one animal; nothing if all are about the same. */
async function petFilter(visit: AccountVisit, folder: InboxFolder, petId: number | undefined) {
  const { deployment, account } = visit;
  const ids = await petsInInbox(deployment.database, account.id);
  if (ids.length < 2 && petId === undefined) return undefined;
  const listed = petId === undefined || ids.includes(petId) ? ids : [petId, ...ids];
  const pets = await petsNamed(visit, listed);
  const choice = (id: number, pet: NamedPet | undefined) => ({
    value: String(id),
    label: pet?.name ?? `Animal ${id}, which is gone`,
    checked: id === petId,
  });
  return html`<form action="${MESSAGES_PATH}" class="filter">
${folder !== 'open' && hidden('show', folder)}
${select({ name: 'animal', label: 'Animal', choices: [{ value: '', label: 'All animals' }, ...listed.map(id => choice(id, pets.get(id)))] })}
<button class="secondary">Show</button>
</form>`;
}
