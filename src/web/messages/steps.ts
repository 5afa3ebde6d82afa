import { type Html, type HtmlValue, html } from '../../lib/html/html.ts';
import { messageIdOf, type ReceivedMessage } from '../../model/message.ts';
import type { Transaction } from '../../model/schema.ts';
import { markUnread, moveMessage } from '../../store/inbox/list.ts';
import { senderKey } from '../../store/messages/blocks.ts';
import { doneNotice, hidden } from '../forms.ts';
import type { AccountVisit } from '../page.ts';
import { MESSAGES_PATH } from '../paths.ts';
import { storedIdOf } from './parts.ts';

/** What a button of a message does. */
interface Step {
  readonly label: string;
  /** The text about it afterwards. */
  readonly done: string;
  /** Whether a button undoes it: `inbox`. */
  readonly undo?: true;
  run(tx: Transaction, message: ReceivedMessage): unknown;
}

export const messageSteps = {
  archive: {
    label: 'Archive',
    done: 'The message is in the archive.',
    undo: true,
    run: (tx, message) => moveMessage(tx, message, 'archived'),
  },
  inbox: {
    label: 'Put back',
    done: 'The message is in the inbox again.',
    run: (tx, message) => moveMessage(tx, message, null),
  },
  unread: { label: 'Mark as unread', done: 'The message is marked as unread.', run: markUnread },
  spam: {
    label: 'Spam',
    done: 'The message is hidden, and so is all that this sender writes to you from now on. The sender does not notice.',
    undo: true,
    run: (tx, message) => moveMessage(tx, message, 'spam'),
  },
} as const satisfies Readonly<Record<string, Step>>;

export type MessageStep = keyof typeof messageSteps;

const doneTexts = Object.fromEntries(Object.entries<Step>(messageSteps).map(([name, { done }]) => [name, done]));

/** Returns the steps that are possible for a message where it is now. */
export function stepsFor(message: ReceivedMessage): readonly MessageStep[] {
  if (message.folder !== null) return ['inbox'];
  // The store itself cannot be blocked.
  return senderKey(message) === undefined ? ['archive', 'unread'] : ['archive', 'unread', 'spam'];
}

/** The query parameters of a list, which the forms of its rows repeat. */
const LIST_PARAMETERS = ['show', 'animal'] as const;

/** Returns the button of a step; nothing for members who may only read. @param look the class of the button */
export function stepForm(
  visit: AccountVisit,
  messageId: string,
  step: MessageStep,
  label?: string,
  look = 'secondary',
): Html | undefined {
  if (visit.isReadOnly) return undefined;
  const listed = LIST_PARAMETERS.map(name => [name, visit.query.get(name)] as const);
  return html`<form method="post" action="${MESSAGES_PATH}/${messageId}" class="inline">${visit.tokenField()}<input type="hidden" name="step" value="${step}">${listed.map(
    ([name, value]) => value && hidden(name, value),
  )}<button class="${look}">${label ?? messageSteps[step].label}</button></form>`;
}

/** Returns the address of the list that a form was on, which says what the form has done. */
export function listAfter({ form }: AccountVisit, { id }: ReceivedMessage, step: MessageStep): string {
  const query = new URLSearchParams();
  for (const name of LIST_PARAMETERS) if (form.get(name)) query.set(name, form.get(name)!);
  query.set('done', step);
  query.set('message', messageIdOf(id));
  return `${MESSAGES_PATH}?${query}`;
}

/** Returns the message about a step on the list, with a button that undoes it. */
export function stepNotice(visit: AccountVisit): HtmlValue {
  const name = visit.query.get('done') ?? '';
  const id = storedIdOf(visit.query.get('message'));
  const steps: Readonly<Record<string, Step>> = messageSteps;
  const canUndo = id !== undefined && Object.hasOwn(steps, name) && steps[name]!.undo;
  return doneNotice(
    visit,
    doneTexts,
    canUndo ? html`<p>${stepForm(visit, messageIdOf(id), 'inbox', 'Undo', 'plain')}</p>` : undefined,
  );
}
