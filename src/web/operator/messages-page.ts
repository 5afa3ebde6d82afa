import { mailtoUrl } from '../../lib/email.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { Problem } from '../../lib/http/problem.ts';
import { listEveryMessage } from '../../messages/list.ts';
import { idOf, type MessageRow, messageIdOf } from '../../messages/message.ts';
import { getMessage } from '../../messages/messages.ts';
import { listPage, pageLinks } from '../lists.ts';
import { operatorPage } from '../page.ts';
import { badge, facts, table } from '../parts.ts';
import { accountLink, actorOf, deploymentOf, deploymentTabs, pathWith, styles } from './parts.ts';

const PATH = '/operator/messages';

/** The messages to the store. */
export const messagesPage = operatorPage({
  path: PATH,
  title: 'Store inbox',
  menu: 'operator',
  async show(visit) {
    const deployment = deploymentOf(visit);
    if (deployment === undefined) return undefined;
    const filter = { accountId: null, box: 'inbox', newestFirst: true } as const;
    const page = await listEveryMessage(deployment.database, filter, listPage(visit));
    return {
      styles,
      body: html`${deploymentTabs(visit, PATH, deployment.name)}
${table(
  'Messages to the store',
  ['Message', 'From', 'Sent', 'Delivery'],
  page.rows.map(message => [
    html`<a href="${pathWith(`${PATH}/${messageIdOf(message.id)}`, { deployment: deployment.name })}"><bdi>${excerpt(message.message)}</bdi></a>`,
    accountLink(message.accountId) ?? 'A visitor',
    timeHtml(message.createdAt),
    deliveryState(message),
  ]),
  'No one has written to the store.',
)}
${pageLinks(visit, page)}`,
    };
  },
});

/** One message to the store, with its delivery. */
export const messagePage = operatorPage({
  path: `${PATH}/{messageId}`,
  title: 'Message',
  async show(visit) {
    const deployment = deploymentOf(visit);
    const id = visit.parameters['messageId']!;
    if (deployment === undefined || !/^msg_[1-9]\d{0,14}$/.test(id)) return undefined;
    try {
      const message = await getMessage(deployment.database, actorOf(visit), idOf(id));
      // A message of the admin's own account is none to the store.
      if (message.toAccountId !== null) return undefined;
      return {
        title: `Message ${id}`,
        styles,
        body: html`<p><a href="${pathWith(PATH, { deployment: deployment.name })}">All messages</a></p>
${messageFacts(message)}
<h2>Text</h2>
<p class="card message"><bdi>${message.message}</bdi></p>
${message.replyTo !== null && html`<p><a class="button" href="${mailtoUrl(message.replyTo)}">Reply by e-mail</a></p>`}
<h2>Delivery</h2>
${attemptTable(message)}`,
      };
    } catch (error) {
      if (error instanceof Problem && error.status === 404) return undefined;
      throw error;
    }
  },
});

/** The longest excerpt of a text in the list, in characters. */
const EXCERPT_LENGTH = 80;

function excerpt(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  const characters = Array.from(line.slice(0, 4 * EXCERPT_LENGTH));
  if (characters.length <= EXCERPT_LENGTH) return line === '' ? '(blank)' : line;
  return `${characters.slice(0, EXCERPT_LENGTH).join('')}…`;
}

function messageFacts({ accountId, petId, replyTo, createdAt, ...message }: MessageRow): Html {
  return facts([
    ['From', accountLink(accountId) ?? 'A visitor'],
    ['Reply to', replyTo === null ? 'No address given' : html`<bdi>${replyTo}</bdi>`],
    ['About', petId === null ? undefined : html`<a href="/animals/${petId}">Animal ${petId}</a>`],
    ['Sent', timeHtml(createdAt)],
    ['Delivery', deliveryState(message)],
  ]);
}

function deliveryState({ status }: Pick<MessageRow, 'status'>): Html {
  const states = {
    queued: ['warn', 'Queued'],
    delivered: ['good', 'Delivered'],
    failed: ['bad', 'Only in the inbox'],
  } as const;
  const [look, text] = states[status as keyof typeof states];
  return badge(look, text);
}

const reasons: Readonly<Record<string, string>> = {
  unreachable: 'no mail server responded',
  timeout: 'the mail server took too long',
  refused: 'the mail server rejected it',
  postponed: 'the mail server rejected it for now',
};

function attemptTable({ arrivedAt, emailAttempts }: MessageRow): Html {
  const rows = [
    ...(arrivedAt === null ? [] : [[timeHtml(arrivedAt), 'Inbox', 'Delivered']]),
    ...emailAttempts.map(({ at, outcome, reason }) => {
      const why = reason === null ? '' : `: ${reasons[reason]}`;
      return [timeHtml(at), 'E-mail', outcome === 'delivered' ? 'Delivered' : `Failed${why}`];
    }),
  ];
  return table('Attempts', ['Time', 'By', 'Result'], rows, 'It was not delivered yet.');
}
