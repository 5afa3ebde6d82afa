import { type AuditRow, entryOf } from '../../audit/entry.ts';
import { type AuditFilter, listAuditEntries } from '../../audit/list.ts';
import { refusalOf } from '../../audit/refusal.ts';
import { listRefusals } from '../../audit/refusals.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { countText } from '../../lib/text.ts';
import { parseTime } from '../../lib/time.ts';
import { notice } from '../forms.ts';
import { idOf, listPage, pageLinks } from '../lists.ts';
import { type AccountVisit, operatorPage } from '../page.ts';
import { table } from '../parts.ts';
import {
  accountLink,
  actorOf,
  deploymentOf,
  deploymentTabs,
  emptyText,
  keyLink,
  pathWith,
  searchField,
  searchForm,
  searchText,
  styles,
} from './parts.ts';

const PATH = '/operator/audit';

/** The audit log of a deployment, to search. */
export const auditPage = operatorPage({
  path: PATH,
  title: 'Full audit log',
  menu: 'operator',
  async show(visit) {
    const deployment = deploymentOf(visit);
    if (deployment === undefined) return undefined;
    const { name, database } = deployment;
    const { filter, errors } = filterOf(visit.query);
    const page = await listAuditEntries(database, actorOf(visit), filter, listPage(visit));
    return {
      styles,
      status: errors.length === 0 ? 200 : 422,
      body: html`<p>Every change, newest first, with who asked for it. <a href="${PATH}/refusals">Refused requests</a></p>
${deploymentTabs(visit, PATH, name)}
${errors.length > 0 && notice('alert', html`<ul>${errors.map(error => html`<li>${error}</li>`)}</ul>`)}
${searchForm(PATH, [html`<input type="hidden" name="deployment" value="${name}">`, filterFields(visit)], 'Filter')}
${visit.query.size > 0 && html`<p><a href="${pathWith(PATH, { deployment: name })}">Show everything</a></p>`}
${table(
  'Audit log',
  ['Time', 'Change', 'Who', 'Request', 'Address'],
  page.rows.map(row => entryRow(row, name)),
  emptyText('No change matches.', page),
)}
${pageLinks(visit, page)}`,
    };
  },
});

/** The refused requests of all keys. */
export const refusalsPage = operatorPage({
  path: `${PATH}/refusals`,
  title: 'Refused requests',
  async show(visit) {
    const { site } = visit;
    const filter = { keyId: searchText(visit, 'key'), code: searchText(visit, 'code') };
    const page = await listRefusals(site.accounts, actorOf(visit), filter, listPage(visit));
    return {
      styles,
      body: html`<p><a href="${PATH}">Full audit log</a></p>
<p>Requests that were refused although their key exists: by key, UTC day and error code. Counts are up to a minute behind.</p>
${searchForm(`${PATH}/refusals`, [searchField(visit, 'key', 'Key id'), searchField(visit, 'code', 'Error code')], 'Filter')}
${table(
  'Refused requests',
  ['Key', 'Account', 'Day', 'Error', 'Requests', 'Last', 'Last request', 'Last address'],
  page.rows.map(row => {
    const { keyId, accountId, day, code, requests, lastRequestId, lastAddress } = refusalOf(row);
    return [
      keyLink(keyId),
      accountLink(accountId),
      day,
      html`<a href="/errors/${code}"><code>${code}</code></a>`,
      countText(requests),
      timeHtml(row.lastAt),
      html`<code>${lastRequestId}</code>`,
      lastAddress,
    ];
  }),
  emptyText('No request with a known key was refused.', page),
)}
${pageLinks(visit, page)}`,
    };
  },
});

function filterFields(visit: AccountVisit): Html[] {
  return [
    searchField(visit, 'account', 'Account id', 'number'),
    searchField(visit, 'key', 'Key id'),
    searchField(visit, 'session', 'Session id', 'number'),
    searchField(visit, 'request', 'Request id'),
    searchField(visit, 'address', 'Address'),
    searchField(visit, 'type', 'Type, such as pet.*'),
    searchField(visit, 'resource', 'Resource, such as pet:7'),
    searchField(visit, 'since', 'From, UTC', 'datetime-local'),
    searchField(visit, 'until', 'Until, UTC', 'datetime-local'),
  ];
}

/** Returns the filter that the address asks for, and what is wrong with it. */
function filterOf(query: URLSearchParams): { filter: AuditFilter; errors: string[] } {
  const errors: string[] = [];
  const read = <T>(name: string, parse: (text: string) => T | undefined, rule: string): T | undefined => {
    const text = query.get(name)?.trim() ?? '';
    const value = text === '' ? undefined : parse(text);
    if (text !== '' && value === undefined) errors.push(rule);
    return value;
  };
  const text = (text: string) => (text.length <= 128 && !text.includes('\0') ? text : undefined);
  const filter: AuditFilter = {
    accountId: read('account', idOf, 'The account is the number of its id.'),
    keyId: read('key', text, 'A key id has at most 128 characters.'),
    sessionId: read('session', idOf, 'The session is the number of its id.'),
    requestId: read('request', text, 'A request id has at most 128 characters.'),
    address: read('address', text, 'An address has at most 128 characters.'),
    types: read('type', typesOf, 'A type is that of an event, such as pet.created, or pet.* for all of a kind.'),
    resource: read('resource', resourceOf, 'A resource is its kind and id, such as pet:7 or order:12.'),
    since: read('since', timeOf, 'The start is a date and a time, such as 2026-11-22T08:00.'),
    until: read('until', timeOf, 'The end is a date and a time, such as 2026-11-22T18:00.'),
  };
  return { filter, errors };
}

function typesOf(text: string): string[] | undefined {
  const types = text.split(/[\s,]+/);
  return types.length <= 50 && types.every(type => /^[a-z_]{1,40}\.([a-z_]{1,40}|\*)$/.test(type)) ? types : undefined;
}

function resourceOf(text: string): string | undefined {
  return /^((pet|category|hold|order|account|webhook):|message:msg_)[1-9]\d{0,14}$/.test(text) ? text : undefined;
}

/** Browsers leave out the seconds. */
function timeOf(text: string): number | undefined {
  const time = parseTime(`${text}Z`) ?? parseTime(`${text}:00Z`);
  return time === undefined ? undefined : Math.ceil(time);
}

function entryRow(row: AuditRow, deployment: string) {
  const { type, resourceId, accountId, keyId, sessionId, requestId, address, command } = entryOf(row);
  const filtered = (name: string, value: string | number, text: Html | string) =>
    html`<a href="${pathWith(PATH, { deployment, [name]: value })}">${text}</a>`;
  const who = [
    accountLink(accountId),
    keyId !== undefined && html`key ${keyLink(keyId)}`,
    sessionId !== undefined && filtered('session', sessionId, `session ${sessionId}`),
    command !== undefined && html`<code>petstore ${command}</code>`,
  ].filter(Boolean);
  return [
    timeHtml(row.at),
    html`<code>${type}</code> <span class="quiet">${resourceId}</span>`,
    who.map((part, index) => html`${index > 0 && ' · '}${part}`),
    requestId !== undefined && filtered('request', requestId, html`<code>${requestId}</code>`),
    address !== undefined && filtered('address', address, address),
  ];
}
