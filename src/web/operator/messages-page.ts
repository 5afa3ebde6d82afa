import { mailtoUrl } from '../../lib/email.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { type MessageRow, messageIdOf } from '../../model/message.ts';
import { listEveryMessage } from '../../store/messages/list.ts';
import { getMessage } from '../../store/messages/messages.ts';
import { deploymentOf, withQuery } from '../deployments.ts';
import { excerpt } from '../messages/excerpt.ts';
import { storedIdOf } from '../messages/parts.ts';
import { badge, facts, table } from '../parts.ts';
import { operatorList } from './list.ts';
import { accountLink, actorOf, styles } from './parts.ts';
import { resourcePages } from './resource.ts';

const PATH = '/operator/messages';

/** The messages to the store. */
export const messagesPage = operatorList({
  path: PATH,
  title: 'Store inbox',
  menu: 'operator',
  perDeployment: true,
  read: ({ deployment }, _, page) =>
    listEveryMessage(deployment.database, { accountId: null, box: 'inbox', newestFirst: true }, page),
  caption: 'Messages to the store',
  columns: ({ deployment: { name: deployment } }) => ({
    Message: ({ id, message }) =>
      html`<a href="${withQuery(`${PATH}/${messageIdOf(id)}`, { deployment })}"><bdi>${excerpt(message)}</bdi></a>`,
    From: ({ accountId }) => accountLink(accountId) ?? 'A visitor',
    Sent: ({ createdAt }) => timeHtml(createdAt),
    Delivery: deliveryState,
  }),
  empty: 'No one has written to the store.',
});

/** A message to the store, with its delivery. */
export const messagePages = resourcePages({
  path: `${PATH}/{messageId}`,
  title: 'Message',
  async find(visit) {
    const id = storedIdOf(visit.parameters['messageId']);
    const deployment = deploymentOf(visit);
    if (deployment === undefined || id === undefined) return undefined;
    const message = await getMessage(deployment.database, actorOf(visit), id);
    // A message to the admin's own account is not a message to the store.
    return message.toAccountId === null ? { message, deployment: deployment.name } : undefined;
  },
  view: (_, { message, deployment }) => ({
    title: `Message ${messageIdOf(message.id)}`,
    styles,
    body: html`<p><a href="${withQuery(PATH, { deployment })}">All messages</a></p>
${messageFacts(message)}
<h2>Text</h2>
<blockquote class="card message" dir="auto">${message.message}</blockquote>
${message.replyTo !== null && html`<p><a class="button" href="${mailtoUrl(message.replyTo)}">Reply by e-mail</a></p>`}
<h2>Delivery</h2>
${attemptTable(message)}`,
  }),
});

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
  const inbox = arrivedAt === null ? [] : [{ at: arrivedAt, by: 'Inbox', result: 'Delivered' }];
  const emails = emailAttempts.map(({ at, outcome, reason }) => {
    const why = reason === null ? '' : `: ${reasons[reason]}`;
    return { at, by: 'E-mail', result: outcome === 'delivered' ? 'Delivered' : `Failed${why}` };
  });
  return table(
    'Attempts',
    { Time: ({ at }) => timeHtml(at), By: ({ by }) => by, Result: ({ result }) => result },
    [...inbox, ...emails],
    'It was not delivered yet.',
  );
}
