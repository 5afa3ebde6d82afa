import { listMembers } from '../../access/people/members.ts';
import { type Html, html } from '../../lib/html/html.ts';
import { messageIdOf, type ReceivedMessage } from '../../model/message.ts';
import type { Member } from '../../model/person.ts';
import { allows } from '../../model/roles.ts';
import { assignMessage } from '../../store/inbox/list.ts';
import { form, select } from '../forms.ts';
import { idOf } from '../lists.ts';
import type { AccountVisit } from '../page.ts';
import { MESSAGES_PATH } from '../paths.ts';

/** The field of the form that assigns a message: the id of a member; empty for nobody. */
export const ASSIGNEE = 'assignee';

/** Returns the form that assigns a message to a member who may answer it; nothing if there is only one. */
export async function assignmentForm(visit: AccountVisit, message: ReceivedMessage): Promise<Html | undefined> {
  const members = await assignees(visit);
  if (members.length < 2 && message.assignedTo === null) return undefined;
  const choices = members.map(({ id, name }) => ({
    ...{ value: String(id), label: name, checked: id === message.assignedTo },
  }));
  return form(
    visit,
    { action: `${MESSAGES_PATH}/${messageIdOf(message.id)}`, submit: 'Assign', className: 'write', secondary: true },
    html`${select({ name: ASSIGNEE, label: 'Who answers', choices: [{ value: '', label: 'Nobody yet' }, ...choices] })}`,
  );
}

/** Assigns a message as the form says. Reports whether the member exists and may answer. */
export async function assign(visit: AccountVisit, message: ReceivedMessage): Promise<boolean> {
  const { deployment, origin, form: sent } = visit;
  const id = sent.get(ASSIGNEE) === '' ? null : idOf(sent.get(ASSIGNEE));
  if (id !== null && !(await assignees(visit)).some(member => member.id === id)) return false;
  await deployment.database.write(tx => assignMessage(tx, message, id!), origin);
  return true;
}

async function assignees({ site, account }: AccountVisit): Promise<readonly Member[]> {
  return (await listMembers(site.accounts, account.id)).filter(({ role }) => allows(role, 'messages'));
}
