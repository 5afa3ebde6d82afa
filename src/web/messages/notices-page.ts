import { listMembers } from '../../access/people/members.ts';
import { chooseNotices, noticesOf } from '../../access/people/notices.ts';
import { attemptLimits } from '../../access/sessions/attempts.ts';
import { type HtmlValue, html } from '../../lib/html/html.ts';
import { type NoticeChoice, noticeChoices } from '../../model/notices.ts';
import { DIGEST_TIME, NOTICES_PATH } from '../../store/inbox/notice-job.ts';
import { choices, doneNotice, form, notice } from '../forms.ts';
import { type AccountVisit, accountPage, type View } from '../page.ts';
import { MESSAGES_PATH } from '../paths.ts';

const labels: Readonly<Record<NoticeChoice, readonly [label: string, hint: string]>> = {
  each: [
    'At once',
    `One e-mail for each message, at most ${attemptLimits.noticesToMember.max} within a day. Further ones come in the daily summary.`,
  ],
  daily: [
    'Daily summary',
    `One e-mail a day, at ${DIGEST_TIME}, if there are new messages that nobody has opened yet.`,
  ],
  none: ['None', 'You look into the inbox yourself.'],
};

/** How the member learns of new messages to the account. */
export const noticesPage = accountPage({
  path: NOTICES_PATH,
  permission: 'own',
  title: 'Notifications',
  menu: 'account',
  show: visit => noticesView(visit),
  async submit(visit) {
    const { site, account, signedIn, origin, form: sent } = visit;
    const chosen = noticeChoices.find(choice => choice === sent.get('notices'));
    if (chosen === undefined) return noticesView(visit, { notices: 'Choose one of the three.' });
    if (obstacle(visit) !== undefined) return noticesView(visit);
    if (!site.isUpgraded()) return noticesView(visit, { '': OLDER_SERVERS });
    const member = { accountId: account.id, personId: signedIn.person.id };
    await site.accounts.write(tx => chooseNotices(tx, member, chosen), origin);
    return { location: `${NOTICES_PATH}?done=${chosen}` };
  },
});

const OLDER_SERVERS =
  'Some servers of this store still run an earlier release, which knows no notifications. Try again when they are updated.';

const done: Readonly<Record<NoticeChoice, string>> = {
  each: 'From now on you get an e-mail for each new message.',
  daily: 'From now on you get one e-mail a day about new messages.',
  none: 'From now on you get no e-mail about new messages.',
};

async function noticesView(visit: AccountVisit, errors: NoticeErrors = {}): Promise<View> {
  const { site, account, signedIn } = visit;
  const { person } = signedIn;
  const members = await listMembers(site.accounts, account.id);
  const { notices } = members.find(({ id }) => id === person.id) ?? {};
  const chosen = noticesOf(account, { email: person.email, ...(notices !== undefined && { notices }) });
  const reason = obstacle(visit);
  return {
    errors,
    description: 'How you learn of new messages.',
    body: html`${doneNotice(visit, done)}
<p class="lead">How do you want to learn of new messages about the animals of ${account.name}? This counts for you alone: everyone in the account chooses for themselves. The <a href="${MESSAGES_PATH}">inbox</a> has all messages.</p>
${
  reason !== undefined
    ? notice('status', html`<p>${reason}</p>`)
    : html`<p>E-mail goes to <bdi>${person.email}</bdi>.${person.email === account.email && ' This is also the address of the account. What the store itself writes about the account, such as a warning about its limits, always goes there.'}</p>
${form(
  visit,
  { action: NOTICES_PATH, submit: 'Save' },
  choices('radio', {
    ...{ name: 'notices', label: 'E-mail about new messages', error: errors.notices },
    choices: noticeChoices.map(value => {
      const [label, hint] = labels[value];
      return { value, label, hint, checked: value === chosen };
    }),
  }),
)}`
}`,
  };
}

type NoticeErrors = { readonly notices?: string; readonly ''?: string };

/** Returns why the member gets no e-mail, whatever the choice; `undefined` if e-mail is possible. */
function obstacle({ site, deployment, signedIn }: AccountVisit): HtmlValue {
  if (deployment.name === 'staging') return 'This is staging: it never sends messages by e-mail.';
  if (site.emailSender === undefined) {
    return 'This store sends no e-mail, so there is nothing to choose. Its operator can set a mail server.';
  }
  return signedIn.person.emailConfirmedAt === undefined
    ? html`You can choose once your address is confirmed. <a href="/account#address">Confirm it</a>.`
    : undefined;
}
