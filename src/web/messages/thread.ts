import { memberNames } from '../../access/people/members.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { messageIdOf, type ReceivedMessage } from '../../model/message.ts';
import { listNotes, type MessageNote } from '../../store/inbox/notes.ts';
import { type EmailReply, listReplies } from '../../store/inbox/replies.ts';
import { writtenTextOf } from '../../store/visitor-messages/visitor-messages.ts';
import { form, hidden } from '../forms.ts';
import type { AccountVisit } from '../page.ts';
import { badge } from '../parts.ts';
import { MESSAGES_PATH } from '../paths.ts';
import { senderOf } from './parts.ts';

/** Returns a message with its replies and notes, in the order of their times. */
export async function threadView(visit: AccountVisit, message: ReceivedMessage): Promise<Html> {
  const { database } = visit.deployment;
  const replies = await listReplies(database, message);
  const notes = await listNotes(database, message);
  const names = await memberNames(visit.site.accounts, visit.account.id);
  const entries = [
    { at: message.createdAt, view: entryView(senderOf(message), message.createdAt, writtenTextOf(message)) },
    ...replies.map(reply => ({ at: reply.createdAt, view: replyView(reply, names) })),
    ...notes.map(note => ({ at: note.createdAt, view: noteView(visit, message, note, names) })),
  ].sort((one, other) => one.at - other.at);
  return html`<ol class="thread">${entries.map(({ view }) => view)}</ol>`;
}

function entryView(who: Html, at: number, text: string, look = '', more?: Html): Html {
  return html`<li class="${look}"><p class="quiet">${who} · ${timeHtml(at)}</p>
<blockquote class="card message" dir="auto">${text}</blockquote>${more}</li>
`;
}

type Names = ReadonlyMap<number, string>;

function replyView({ email, text, createdAt, sentAt, dueAt, personId }: EmailReply, names: Names): Html {
  const author = personId === null ? undefined : names.get(personId);
  const state =
    sentAt !== null
      ? badge('good', 'Sent')
      : dueAt !== null
        ? badge('warn', 'Is being sent')
        : badge('bad', 'Could not be sent');
  return entryView(
    html`${author === undefined ? 'Your reply' : html`Reply of <bdi>${author}</bdi>`} to <bdi>${email}</bdi> ${state}`,
    createdAt,
    text,
    'reply',
  );
}

function noteView(
  visit: AccountVisit,
  { id: messageId }: ReceivedMessage,
  { id, text, createdAt, personId }: MessageNote,
  names: Names,
): Html {
  const author = personId === null ? undefined : names.get(personId);
  const action = `${MESSAGES_PATH}/${messageIdOf(messageId)}`;
  const deletion = form(
    visit,
    { action, submit: 'Delete the note', className: 'inline', danger: true },
    hidden('delete', id),
  );
  return entryView(
    html`Note${author !== undefined && html` of <bdi>${author}</bdi>`}, which the sender does not see`,
    createdAt,
    text,
    'note',
    deletion,
  );
}
