import { listKeys } from '../../access/keys/keys.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import type { Page } from '../../lib/http/pagination/paginate.ts';
import { countText } from '../../lib/text.ts';
import { durationIn } from '../../lib/time.ts';
import type { LoggedRequestRow } from '../../model/logged-request.ts';
import { findRequest, listRequests, REQUESTS_KEPT, REQUESTS_KEPT_MS } from '../../operate/usage/log.ts';
import { routes } from '../../views/api.ts';
import { field, select } from '../forms.ts';
import { titleOf } from '../layout.ts';
import { idOf, listPage, pageLinks } from '../lists.ts';
import { type AccountVisit, accountPage } from '../page.ts';
import { badge, facts } from '../parts.ts';
import { chosenDeployment, chosenKey, keyNames, selectDeployment, selectKey } from './choices.ts';

/** The requests of the account. */
export const requestsPage = accountPage({
  path: '/requests',
  permission: 'developers',
  title: 'Request log',
  menu: 'developers',
  async show(visit) {
    const { site, account, query } = visit;
    const keys = await listKeys(site.accounts, account.id);
    const status = query.get('status')?.trim().toLowerCase() ?? '';
    const isStatus = status === '' || /^([1-5]\d\d|[1-5]xx)$/.test(status);
    const filter = {
      deployment: chosenDeployment(visit),
      requestId: query.get('requestId')?.trim() ?? '',
      status: isStatus ? status : '',
      operation: routes.find(({ operationId }) => operationId === query.get('operation'))?.operationId ?? '',
      keyId: chosenKey(visit, keys) ?? '',
    };
    const page = await listRequests(site.accounts, account.id, filter, listPage(visit));
    const isFiltered = Object.values(filter).some(value => value !== undefined && value !== '');
    return {
      status: isStatus ? 200 : 422,
      styles: ['usage.css'],
      body: html`<p class="lead">Your latest ${countText(REQUESTS_KEPT)} requests of the last ${KEPT}.</p>
<form action="/requests" class="filter">
${field({ name: 'requestId', label: 'Request ID', type: 'search', value: filter.requestId, optional: true, maxLength: 128 })}
${field({
  name: 'status',
  label: 'Status',
  value: status,
  optional: true,
  maxLength: 3,
  ...(!isStatus && { error: 'Use a status such as 404, or a class such as 4xx.' }),
})}
${selectOperation(filter.operation)}
${selectKey(keys, filter.keyId)}
${selectDeployment(visit, filter.deployment, 'Both')}
<button class="secondary">Search</button>
</form>
${page.rows.length === 0 ? emptyView(isFiltered, page) : table(page.rows, keyNames(keys))}
${pageLinks(visit, page, { previous: 'Newer', next: 'Older' })}`,
    };
  },
});

/** A request of the account. */
export const requestPage = accountPage({
  path: '/requests/{entryId}',
  permission: 'developers',
  title: 'Request',
  async show(visit) {
    const { site, account, parameters } = visit;
    const id = idOf(parameters['entryId']);
    const row = id === undefined ? undefined : await findRequest(site.accounts, account.id, id);
    if (row === undefined) return undefined;
    const names = keyNames(await listKeys(site.accounts, account.id));
    return {
      title: `${row.method} ${row.path?.split('?', 1)[0] ?? 'of an unknown path'}`,
      styles: ['usage.css'],
      body: entryView(row, names.get(row.keyId), visit),
    };
  },
});

function entryView(row: LoggedRequestRow, keyName: string | undefined, { site }: AccountVisit): Html {
  const { keyId, requestId, operation, code } = row;
  const unknownPath = html`<span class="quiet">Not kept: there is no operation at this path</span>`;
  const noOperation = html`<span class="quiet">None</span>`;
  return html`${facts([
    [
      'Status',
      html`${statusBadge(row.status)}${code !== null && html` <a href="/errors/${code}"><code>${code}</code></a>`}`,
    ],
    ['Time', html`${timeHtml(row.time)}<br><span class="quiet">${new Date(row.time).toISOString()}</span>`],
    ['Path', row.path === null ? unknownPath : html`<code>${row.path}</code>`],
    ['Operation', operation === null ? noOperation : html`<a href="/requests?operation=${operation}">${operation}</a>`],
    ['Duration', durationText(row.durationMs)],
    [
      'API key',
      html`<a href="/keys/${keyId}">${keyName ?? html`<code>${keyId}</code>`}</a>${keyName !== undefined && html` <code>${keyId}</code>`}`,
    ],
    ['Deployment', site.deployments.size > 1 ? titleOf(row.deployment) : undefined],
    ['Request ID', html`<pre class="copy"><code>${requestId}</code></pre>`],
  ])}
<p><a href="/requests">All requests</a></p>`;
}

function selectOperation(chosen: string): Html {
  const names = routes.map(({ operationId }) => operationId).sort();
  const choices = names.map(value => ({ value, label: value, checked: value === chosen }));
  return select({
    name: 'operation',
    label: 'Operation',
    choices: [{ value: '', label: 'All operations' }, ...choices],
  });
}

function table(rows: readonly LoggedRequestRow[], names: ReadonlyMap<string, string>): Html {
  return html`<table class="log">
<caption class="sr-only">Requests, newest first</caption>
<thead><tr><th scope="col">Request</th><th scope="col">Status</th><th scope="col">Time</th><th scope="col">Duration</th><th scope="col">API key</th></tr></thead>
<tbody>${rows.map(
    ({ id, method, path, status, code, time, durationMs, keyId }) => html`<tr>
<th scope="row" class="what"><a href="/requests/${id}"><code>${method} ${path ?? '(unknown path)'}</code></a></th>
<td class="status">${statusBadge(status)}${code !== null && html` <span class="quiet">${code}</span>`}</td>
<td class="when">${timeHtml(time)}</td>
<td class="when">${durationText(durationMs)}</td>
<td>${names.get(keyId) ?? html`<code>${keyId}</code>`}</td>
</tr>
`,
  )}</tbody></table>`;
}

function statusBadge(status: number): Html {
  const kind = status < 400 ? 'good' : status < 500 ? 'warn' : 'bad';
  return badge(kind, String(status));
}

/** The maximum age of requests in the log. */
const KEPT = durationIn('day', REQUESTS_KEPT_MS, 'words');

/** @param us whole microseconds */
function durationText(us: number): string {
  const ms = us / 1000;
  return `${ms < 10 ? ms.toFixed(1) : countText(Math.round(ms))} ms`;
}

function emptyView(isFiltered: boolean, { next }: Page<unknown>): Html {
  if (next !== undefined) return html`<p class="empty">No such request so far. Continue with older requests.</p>`;
  return isFiltered
    ? html`<p class="empty">No request matches. <a href="/requests">Show all requests</a></p>`
    : html`<p class="empty">No requests in the last ${KEPT}.<br>Send one with one of your <a href="/keys">API keys</a>: the <a href="/guides/quickstart">quickstart</a> shows how.</p>`;
}
