import { html, timeHtml } from '../../lib/html/html.ts';
import { capitalized } from '../../lib/text.ts';
import { type BlockedSender, listBlocked, unblockSender } from '../../store/messages/blocks.ts';
import { doneNotice, form, hidden } from '../forms.ts';
import { idOf } from '../lists.ts';
import { accountPage } from '../page.ts';
import { type Columns, table } from '../parts.ts';
import { MESSAGES_PATH } from '../paths.ts';
import { styles } from './parts.ts';

const OWN_PATH = `${MESSAGES_PATH}/blocked`;

/** The senders that the account has blocked. */
export const blockedSendersPage = accountPage({
  path: OWN_PATH,
  permission: 'messages',
  shownFor: 'read',
  title: 'Blocked senders',
  async show(visit) {
    const { deployment, account } = visit;
    const blocked = await listBlocked(deployment.database, account.id);
    const columns: Columns<BlockedSender> = {
      Sender: ({ sender }) => html`<bdi>${sender.includes('@') ? sender : capitalized(sender)}</bdi>`,
      Since: ({ createdAt }) => timeHtml(createdAt),
      Unblock: ({ id }) =>
        form(visit, { action: OWN_PATH, submit: 'Unblock', className: 'inline' }, hidden('block', id)),
    };
    return {
      styles,
      body: html`<p><a href="${MESSAGES_PATH}">All messages</a></p>
${doneNotice(visit, { unblocked: 'This sender can write to you again. Earlier messages stay in the spam.' })}
<p>What these senders write goes to the <a href="${MESSAGES_PATH}?show=spam">spam</a>, and you get no e-mail about it.</p>
${table('Blocked senders', columns, blocked, 'No sender is blocked. Press Spam on a message to block its sender.')}`,
    };
  },
  async submit({ deployment, account, form: sent, origin }) {
    const id = idOf(sent.get('block'));
    if (id === undefined) return undefined;
    await deployment.database.write(tx => unblockSender(tx, account.id, id), origin);
    return { location: `${OWN_PATH}?done=unblocked` };
  },
});
