import { mailtoUrl } from '../../lib/email.ts';
import { type Html, html } from '../../lib/html/html.ts';
import { Problem } from '../../lib/http/problem.ts';
import { BodyReader } from '../../lib/http/server/validation.ts';
import { countText } from '../../lib/text.ts';
import { NewMessageNote, NewReply, type WrittenText } from '../../model/inbox.ts';
import { messageIdOf, type ReceivedMessage } from '../../model/message.ts';
import { boundOf } from '../../model/plan.ts';
import { MESSAGE_NOTE_LENGTH_MAX, REPLY_LENGTH_MAX } from '../../model/rules.ts';
import { markRead } from '../../store/inbox/list.ts';
import { addNote, deleteNote } from '../../store/inbox/notes.ts';
import { correspondentOf, replyByEmail, replyState } from '../../store/inbox/replies.ts';
import { visitorPartsOf } from '../../store/visitor-messages/visitor-messages.ts';
import { assertFormProblem, doneNotice, enteredText, form, textArea } from '../forms.ts';
import { idOf } from '../lists.ts';
import { changeOnce, onceField } from '../once.ts';
import { type AccountVisit, accountPage, type PageResult, type View } from '../page.ts';
import { badge, facts } from '../parts.ts';
import { MESSAGES_PATH } from '../paths.ts';
import { petLink } from '../pets/names.ts';
import { LONG_FORM_BYTES_MAX, readChecked } from '../schema-form.ts';
import { ASSIGNEE, assign, assignmentForm } from './assignment.ts';
import { ownMessage, petsOf, styles } from './parts.ts';
import { listAfter, type MessageStep, messageSteps, stepForm, stepsFor } from './steps.ts';
import { threadView } from './thread.ts';

const doneTexts = {
  reply: 'Your reply is on its way.',
  note: 'The note is saved. The sender does not see it.',
  deleted: 'The note is deleted.',
  assigned: 'The message is assigned.',
  inbox: messageSteps.inbox.done,
} as const;

/** A text that the page sends: its schema, and its names in errors. */
interface Writing {
  readonly reader: BodyReader;
  readonly noun: string;
  readonly lengthMax: number;
}

const writings = {
  reply: { reader: new BodyReader(NewReply), noun: 'reply', lengthMax: REPLY_LENGTH_MAX },
  note: { reader: new BodyReader(NewMessageNote), noun: 'note', lengthMax: MESSAGE_NOTE_LENGTH_MAX },
} as const satisfies Readonly<Record<string, Writing>>;
type WritingName = keyof typeof writings;

/** A message to the account, with its replies and notes. It is read when someone opens it who may answer it. */
export const inboxMessagePage = accountPage({
  path: `${MESSAGES_PATH}/{messageId}`,
  permission: 'messages',
  shownFor: 'read',
  title: 'Message',
  formBytesMax: LONG_FORM_BYTES_MAX,
  async show(visit) {
    const message = await ownMessage(visit);
    if (message === undefined) return undefined;
    const { deployment, origin, isReadOnly } = visit;
    if (message.unread !== null && !isReadOnly) await deployment.database.write(tx => markRead(tx, message), origin);
    return messageView(visit, message);
  },
  async submit(visit) {
    const message = await ownMessage(visit);
    if (message === undefined) return undefined;
    // Each form of the page has a field of its own.
    const name = Object.keys(handlers).find(field => visit.form.has(field));
    return name === undefined ? messageView(visit, message) : handlers[name]!(visit, message);
  },
});

/** Handles the forms of the page, by the field that only this form has. */
const handlers: Readonly<Record<string, (visit: AccountVisit, message: ReceivedMessage) => Promise<PageResult>>> = {
  async step(visit, message) {
    const { form: sent, deployment, origin } = visit;
    const name = (Object.keys(messageSteps) as MessageStep[]).find(one => one === sent.get('step'));
    if (name === undefined) return messageView(visit, message);
    await deployment.database.write(async tx => messageSteps[name].run(tx, message), origin);
    return { location: listAfter(visit, message, name) };
  },
  async delete(visit, message) {
    const { form: sent, deployment, origin } = visit;
    const id = idOf(sent.get('delete'));
    if (id === undefined) return messageView(visit, message);
    await deployment.database.write(tx => deleteNote(tx, message, id), origin);
    return { location: pathOf(message, 'deleted') };
  },
  async [ASSIGNEE](visit, message) {
    if (await assign(visit, message)) return { location: pathOf(message, 'assigned') };
    return messageView(visit, message, { [ASSIGNEE]: 'This person is no longer here.' });
  },
  reply: (visit, message) => write(visit, message, 'reply'),
  note: (visit, message) => write(visit, message, 'note'),
};

function pathOf({ id }: ReceivedMessage, done?: keyof typeof doneTexts): string {
  return `${MESSAGES_PATH}/${messageIdOf(id)}${done === undefined ? '' : `?done=${done}`}`;
}

/** Saves a note, or queues a reply. */
async function write(visit: AccountVisit, message: ReceivedMessage, name: WritingName): Promise<PageResult> {
  const { site, deployment, account, request } = visit;
  const entry = enteredText(visit, name);
  const bounds = {
    emailReplies: boundOf(deployment.bounds, account, 'emailReplies'),
    storedBytes: boundOf(deployment.bounds, account, 'storedBytes'),
  };
  try {
    if (name === 'reply' && !sendsEmail(visit)) return await messageView(visit, message);
    const { text } = textIn(writings[name], entry);
    await changeOnce(visit, `${name} ${message.id}`, { text }, async tx => {
      if (name === 'note') await addNote(tx, message, text, bounds.storedBytes);
      else await replyByEmail(tx, { message, text, url: request.publicUrl, bounds });
      return undefined;
    });
  } catch (error) {
    assertFormProblem(error);
    return messageView(visit, message, { [name]: error.message });
  }
  if (name === 'reply') site.emailQueued();
  return { location: pathOf(message, name) };
}

/** Validates a text. @throws {Problem} with a message for people, which names what to change */
function textIn({ reader, noun, lengthMax }: Writing, text: string): WrittenText {
  try {
    return readChecked<WrittenText>(reader, { text });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { length } = [...text];
    const message =
      length === 0
        ? `Write the ${noun} first.`
        : length > lengthMax
          ? `The ${noun} has ${countText(length)} characters. Shorten it to ${countText(lengthMax)}.`
          : `The ${noun} has characters that cannot be stored. Type it instead of pasting it.`;
    throw new Problem(error.code, error.status, message);
  }
}

/** Reports whether replies are sent from here: staging never sends e-mail. */
function sendsEmail({ site, deployment }: AccountVisit): boolean {
  return site.emailSender !== undefined && deployment.name === 'production';
}

type Errors = Readonly<Partial<Record<WritingName | typeof ASSIGNEE, string>>>;

async function messageView(visit: AccountVisit, message: ReceivedMessage, errors: Errors = {}): Promise<View> {
  const { petId, folder } = message;
  const pets = await petsOf(visit, [message]);
  const name = petId === null ? undefined : pets.get(petId)?.name;
  const states = { archived: badge('', 'Archived'), spam: badge('bad', 'Spam') } as const;
  return {
    title: name === undefined ? 'Message' : `Message about ${name}`,
    styles,
    errors,
    body: html`<p><a href="${MESSAGES_PATH}">All messages</a></p>
${doneNotice(visit, doneTexts)}
${facts([
  ['About', petId === null ? undefined : petLink(petId, pets)],
  ['State', folder === null ? undefined : states[folder]],
])}
${await threadView(visit, message)}
${await replyForm(visit, message, name, errors.reply)}
<details${errors.note !== undefined && html` open`}><summary>Add a note</summary>
${form(visit, { action: pathOf(message), submit: 'Save the note', className: 'write' }, [
  onceField(visit),
  html`<p class="hint">The sender never sees notes.</p>`,
  textArea({
    name: 'note',
    label: 'Note',
    value: visit.form.get('note'),
    error: errors.note,
    maxLength: MESSAGE_NOTE_LENGTH_MAX,
  }),
])}</details>
${await assignmentForm(visit, message)}
<div class="steps">${stepsFor(message).map(step => stepForm(visit, messageIdOf(message.id), step, labelIn(message, step)))}</div>`,
  };
}

function labelIn({ folder }: ReceivedMessage, step: MessageStep): string | undefined {
  return folder === 'spam' && step === 'inbox' ? 'Not spam' : undefined;
}

/** Returns the form that replies by e-mail, or why there is none with a link to the own e-mail program. */
async function replyForm(visit: AccountVisit, message: ReceivedMessage, petName: string | undefined, error?: string) {
  const { deployment, account, form: sent } = visit;
  const { replyTo } = message;
  if (replyTo === null) return undefined;
  const link = (text: string, look: string): Html =>
    html`<a class="${look}" href="${mailtoUrl(replyTo, petName && `Your message about ${petName}`)}">${text}</a>`;
  const state = sendsEmail(visit) ? await replyState(deployment.database, message) : 'unconfirmed';
  if (state !== 'yes') {
    return html`${state === 'stopped' && html`<p>This person wants no more e-mails through the store.</p>`}
<p>${link('Reply by e-mail', 'button')}</p>`;
  }
  const { email } = await correspondentOf(deployment.database, account);
  const name = visitorPartsOf(message)?.name;
  return html`<h2>Reply to <bdi>${name}</bdi></h2>
${form(visit, { action: pathOf(message), submit: 'Send', className: 'write' }, [
  onceField(visit),
  html`<p class="hint">Your text goes to <bdi>${replyTo}</bdi> by e-mail. An answer comes to <bdi>${email}</bdi>.</p>`,
  textArea({ name: 'reply', label: 'Your reply', value: sent.get('reply'), error, maxLength: REPLY_LENGTH_MAX }),
])}
<p>${link('Write in your own e-mail program', '')}</p>`;
}
