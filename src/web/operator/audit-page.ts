import { type AuditEntry, entryOf } from '../../access/audit/entry.ts';
import { listAuditEntries } from '../../access/audit/list.ts';
import { WRITE_EVERY_MS } from '../../access/audit/refusal-counter.ts';
import { listRefusals } from '../../access/audit/refusals.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { countText } from '../../lib/text.ts';
import { durationIn, parseTime } from '../../lib/time.ts';
import { refusalOf } from '../../model/refusal.ts';
import { withQuery } from '../deployments.ts';
import type { Columns } from '../parts.ts';
import { type Filter, idFilter, operatorList, textFilter } from './list.ts';
import { accountLink, actorOf, keyLink } from './parts.ts';

const PATH = '/operator/audit';

const FILTER_LENGTH_MAX = 128;

/** Returns a filter by a text. @param noun the text, as the rule names it */
function text(label: string, noun: string): Filter<string> {
  return {
    label,
    parse: text => (text.length <= FILTER_LENGTH_MAX && !text.includes('\0') ? text : undefined),
    rule: `${noun} has at most ${FILTER_LENGTH_MAX} characters.`,
  };
}

/** Returns a filter by a time. @param noun the time, as the rule names it @param hour that of its example */
function time(label: string, noun: string, hour: string): Filter<number> {
  const rule = `${noun} is a date and a time, such as 2026-11-22T${hour}.`;
  return { label, type: 'datetime-local', parse: timeOf, rule };
}

/** The searchable audit log of a deployment. */
export const auditPage = operatorList({
  path: PATH,
  title: 'Full audit log',
  menu: 'operator',
  perDeployment: true,
  intro: () =>
    html`<p>Every change, newest first, with the account or command that requested it. <a href="${PATH}/refusals">Refused requests</a></p>`,
  filters: {
    account: idFilter('Account id', 'The account is the number of its id.'),
    key: text('Key id', 'A key id'),
    session: idFilter('Session id', 'The session is the number of its id.'),
    request: text('Request id', 'A request id'),
    address: text('Address', 'An address'),
    type: {
      label: 'Type, such as pet.*',
      parse: typesOf,
      rule: 'A type is an event type, such as pet.created, or pet.* for all types of a kind.',
    },
    resource: {
      label: 'Resource, such as pet:7',
      parse: resourceOf,
      rule: 'A resource is its kind and id, such as pet:7 or order:12.',
    },
    since: time('From, UTC', 'The start', '08:00'),
    until: time('Until, UTC', 'The end', '18:00'),
  },
  submit: 'Filter',
  between: ({ query, deployment }) =>
    query.size > 0 && html`<p><a href="${withQuery(PATH, { deployment: deployment.name })}">Show everything</a></p>`,
  async read(visit, { account, key, session, request, type, ...others }, page) {
    const filter = { accountId: account, keyId: key, sessionId: session, requestId: request, types: type, ...others };
    const { rows, ...links } = await listAuditEntries(visit.deployment.database, actorOf(visit), filter, page);
    return { ...links, rows: rows.map(row => ({ at: row.at, ...entryOf(row) })) };
  },
  caption: 'Audit log',
  columns: ({ deployment }) => entryColumns(deployment.name),
  empty: 'No change matches.',
});

/** Rejected requests with existing keys, of all accounts. */
export const refusalsPage = operatorList({
  path: `${PATH}/refusals`,
  title: 'Refused requests',
  intro: () => html`<p><a href="${PATH}">Full audit log</a></p>
<p>Requests that were refused although their key exists: by key, UTC day and error code. Counts are up to ${durationIn('minute', WRITE_EVERY_MS, 'article')} behind.</p>`,
  filters: { key: textFilter('Key id'), code: textFilter('Error code') },
  submit: 'Filter',
  read: (visit, { key, code }, page) => listRefusals(visit.site.accounts, actorOf(visit), { keyId: key, code }, page),
  caption: 'Refused requests',
  columns: () => ({
    Key: ({ keyId }) => keyLink(keyId),
    Account: ({ accountId }) => accountLink(accountId),
    Day: row => refusalOf(row).day,
    Error: ({ code }) => html`<a href="/errors/${code}"><code>${code}</code></a>`,
    Requests: ({ requests }) => countText(requests),
    Last: ({ lastAt }) => timeHtml(lastAt),
    'Last request': ({ lastRequestId }) => html`<code>${lastRequestId}</code>`,
    'Last address': ({ lastAddress }) => lastAddress,
  }),
  empty: 'No request with a known key was refused.',
});

function typesOf(text: string): string[] | undefined {
  const types = text.split(/[\s,]+/);
  return types.length <= 50 && types.every(type => /^[a-z_]{1,40}\.([a-z_]{1,40}|\*)$/.test(type)) ? types : undefined;
}

function resourceOf(text: string): string | undefined {
  return /^((pet|category|hold|order|account|webhook):|message:msg_)[1-9]\d{0,14}$/.test(text) ? text : undefined;
}

/** Browsers omit seconds that are zero. */
function timeOf(text: string): number | undefined {
  const time = parseTime(`${text}Z`) ?? parseTime(`${text}:00Z`);
  return time === undefined ? undefined : Math.ceil(time);
}

function entryColumns(deployment: string): Columns<AuditEntry & { readonly at: number }> {
  const filtered = (name: string, value: string | number, text: Html | string) =>
    html`<a href="${withQuery(PATH, { deployment, [name]: value })}">${text}</a>`;
  return {
    Time: ({ at }) => timeHtml(at),
    Change: ({ type, resourceId }) => html`<code>${type}</code> <span class="quiet">${resourceId}</span>`,
    Who: ({ accountId, keyId, personId, sessionId, command }) =>
      [
        accountLink(accountId),
        keyId !== undefined && html`key ${keyLink(keyId)}`,
        personId !== undefined && `person ${personId}`,
        sessionId !== undefined && filtered('session', sessionId, `session ${sessionId}`),
        command !== undefined && html`<code>petstore ${command}</code>`,
      ]
        .filter(Boolean)
        .map((part, index) => html`${index > 0 && ' · '}${part}`),
    Request: ({ requestId }) =>
      requestId !== undefined && filtered('request', requestId, html`<code>${requestId}</code>`),
    Address: ({ address }) => address !== undefined && filtered('address', address, address),
  };
}
