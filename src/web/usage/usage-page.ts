import { listKeys } from '../../access/keys/keys.ts';
import { findActiveBan } from '../../access/limits/bans.ts';
import type { WindowState } from '../../access/limits/limiter.ts';
import { accountSubject } from '../../access/limits/subject.ts';
import { barChart, type Series } from '../../lib/html/chart.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { countText } from '../../lib/text.ts';
import { DAY_MS, HOUR_MS } from '../../lib/time.ts';
import { limitsOfAccount } from '../../model/account.ts';
import { keyState } from '../../model/key.ts';
import type { DeploymentName } from '../../model/schema.ts';
import type { OutcomeName } from '../../operate/usage/counts.ts';
import { reportRules, type Usage, type UsageReport, usageReport } from '../../operate/usage/report.ts';
import { boundsTable } from '../bounds.ts';
import { notice } from '../forms.ts';
import { type AccountVisit, accountPage } from '../page.ts';
import { nowOf } from '../site.ts';
import { chosenDeployment, chosenKey, keyNames, selectDeployment, selectKey } from './choices.ts';

/** The requests of the account, and what remains of its limits. */
export const usagePage = accountPage({
  path: '/usage',
  permission: 'developers',
  title: 'Usage',
  menu: 'developers',
  async show(visit) {
    const { site, account } = visit;
    const hours = visit.query.get('hours') === String(LONG_HOURS) ? LONG_HOURS : HOURS;
    const now = nowOf(site);
    const keys = await listKeys(site.accounts, account.id);
    const keyId = chosenKey(visit, keys);
    const deployment = chosenDeployment(visit) ?? (await usedDeployment(visit, keyId));
    const request = { accountId: account.id, deployment, keyId };
    const to = Math.ceil((now + 1) / HOUR_MS) * HOUR_MS;
    const byHour = await usageReport(
      site.accounts,
      { ...request, interval: 'hour', from: to - hours * HOUR_MS, to },
      now,
    );
    const byDay = await usageReport(site.accounts, { ...request, interval: 'day', to: now + 1 }, now);
    const limits = limitsOfAccount(account);
    const left = await site.limiter.status(accountSubject(deployment, account.id, limits));
    const names = keyNames(keys);
    return {
      styles: ['chart.css', 'usage.css'],
      body: html`<form action="/usage" class="filter">
${selectDeployment(visit, deployment)}${selectKey(keys, keyId)}
<input type="hidden" name="hours" value="${hours}"><button class="secondary">Show</button>
</form>
${await bansView(visit, byHour)}
${leftView(left)}
${
  byDay.total.requests === 0
    ? emptyView(keys.some(key => key.deployment === deployment && keyState(key, now) === 'active'))
    : html`${hoursView(byHour, visit, hours)}${daysView(byDay)}${keysView(byDay, names)}`
}
<h2 id="bounds">Bounds</h2>
<p class="quiet">What the account has, of what its plan allows.</p>
${await boundsTable(site, account)}`,
    };
  },
});

/** Returns the deployment with requests in the last 30 days: production, unless only staging has some. */
async function usedDeployment({ site, account }: AccountVisit, keyId: string | undefined): Promise<DeploymentName> {
  const now = nowOf(site);
  const isUsed = async (deployment: DeploymentName) => {
    const request = { accountId: account.id, deployment, keyId, interval: 'day', to: now + 1 } as const;
    return (await usageReport(site.accounts, request, now)).total.requests > 0;
  };
  return !(await isUsed('production')) && (await isUsed('staging')) ? 'staging' : 'production';
}

const series: readonly (Series & { readonly outcome: OutcomeName })[] = [
  { outcome: 'succeeded', name: 'Succeeded', className: 'succeeded' },
  { outcome: 'clientErrors', name: 'Client errors', className: 'client' },
  { outcome: 'rateLimited', name: 'Rate limited', className: 'limited' },
  { outcome: 'banned', name: 'Banned', className: 'banned' },
  { outcome: 'serverErrors', name: 'Server errors', className: 'server' },
];

/** Returns what remains in both windows of the account. */
function leftView(windows: WindowState): Html {
  const { limits, minuteLeft, minuteReset, dayLeft, dayReset, now } = windows;
  const seconds = Math.max(1, Math.ceil(minuteReset - now / 1000));
  return html`<div class="grid">
${window('Left this minute', minuteLeft, limits.perMinute, html`The first request comes back in ${seconds} s`, minuteLeft === limits.perMinute)}
${window('Left today', dayLeft, limits.perDay, html`All requests come back on ${timeHtml(dayReset * 1000)}`, false)}
</div>`;
}

function window(label: string, left: number, limit: number, reset: Html, isFull: boolean): Html {
  const shown = Math.max(0, left);
  return html`<div class="card left ${shown <= limit / 5 && 'low'}">
<p class="quiet">${label}</p>
<p class="big">${countText(shown)} <small>of ${countText(limit)}</small></p>
<svg aria-hidden="true" viewBox="0 0 100 1" preserveAspectRatio="none"><rect width="${Math.round((100 * shown) / limit)}" height="1"></rect></svg>
<p class="hint">${isFull ? 'Nothing used' : reset}</p>
</div>`;
}

/** Returns a notice with the used keys that have an active ban. */
async function bansView({ site }: AccountVisit, { keys }: UsageReport): Promise<Html | undefined> {
  const suspects = keys.filter(({ rateLimited, banned }) => rateLimited + banned > 0);
  const bans = await Promise.all(suspects.map(({ keyId }) => findActiveBan(site.accounts, keyId, nowOf(site))));
  const active = bans.filter(ban => ban !== undefined);
  if (active.length === 0) return undefined;
  return notice('alert', [
    html`<p>Too many requests came while the rate limit rejected them, so these keys are banned:</p>`,
    html`<ul>${active.map(({ keyId, until }) => html`<li><a href="/keys/${keyId}"><code>${keyId}</code></a> until ${timeHtml(until)}</li>`)}</ul>`,
    html`<p>Wait as long as <code>Retry-After</code> says. <a href="/guides/rate-limits">Rate limits and bans</a></p>`,
  ]);
}

const HOURS = reportRules.hour.count;
const LONG_HOURS = 2 * HOURS;
const DAYS = reportRules.day.count;

function emptyView(hasKey: boolean): Html {
  return html`<p class="empty">No requests in the last ${DAYS} days.<br>${
    hasKey
      ? html`Send one with one of your <a href="/keys">API keys</a>: the <a href="/guides/quickstart">quickstart</a> shows how.`
      : html`<a href="/keys/new">Create an API key</a> and send your first request.`
  }</p>`;
}

function hoursView(report: UsageReport, { query }: AccountVisit, hours: number): Html {
  const other = new URLSearchParams(query);
  other.set('hours', String(hours === HOURS ? LONG_HOURS : HOURS));
  const axis = [report.from, (report.from + report.to) / 2].map(at => clockText(at));
  return html`<h2>By hour</h2>
${barChart({
  title: `Requests in the last ${hours} hours`,
  unit: 'Hour (UTC)',
  series,
  bars: report.buckets.map(bucket => ({
    label: `${dayText(bucket.start)}, ${clockText(bucket.start)}`,
    values: valuesOf(bucket),
  })),
  axis: [...axis, 'now'],
})}
<p><a href="/usage?${other.toString()}">Show ${hours === HOURS ? LONG_HOURS : HOURS} hours</a></p>`;
}

function daysView(report: UsageReport): Html {
  const middle = report.from + Math.floor((report.to - report.from) / DAY_MS / 2) * DAY_MS;
  return html`<h2>By day</h2>
${barChart({
  title: `Requests in the last ${DAYS} days`,
  unit: 'Day (UTC)',
  series,
  bars: report.buckets.map(bucket => ({ label: dayText(bucket.start), values: valuesOf(bucket) })),
  axis: [dayText(report.from), dayText(middle), 'today'],
})}`;
}

function keysView({ keys, total }: UsageReport, names: ReadonlyMap<string, string>): Html {
  return html`<h2>By key</h2>
<p class="quiet">The last ${DAYS} days. <a href="/requests">See each request</a></p>
<div class="scroll" role="region" aria-label="Requests by key" tabindex="0"><table>
<caption class="sr-only">Requests by key in the last ${DAYS} days</caption>
<thead><tr><th scope="col">Key</th>${series.map(({ name }) => html`<th scope="col" class="number">${name}</th>`)}<th scope="col" class="number">All</th></tr></thead>
<tbody>${keys.map(
    usage => html`<tr><th scope="row"><a href="/keys/${usage.keyId}">${names.get(usage.keyId) ?? html`<code>${usage.keyId}</code>`}</a></th>${[
      ...valuesOf(usage),
      usage.requests,
    ].map(value => html`<td class="number">${countText(value)}</td>`)}</tr>
`,
  )}</tbody></table></div>
${total.unlogged > 0 && html`<p class="hint">${countText(total.unlogged)} of these requests are not in the request log, because too many came in one second.</p>`}`;
}

function valuesOf(usage: Usage): number[] {
  return series.map(({ outcome }) => usage[outcome]);
}

const dayFormat = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

function dayText(at: number): string {
  return dayFormat.format(at);
}

function clockText(at: number): string {
  return new Date(at).toISOString().slice(11, 16);
}
