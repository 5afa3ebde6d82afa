import { nowOf } from '../../access/deployment.ts';
import { type Html, html } from '../../lib/html/html.ts';
import { capitalized, countText, spelled } from '../../lib/text.ts';
import { type BoundSettings, boundOf, boundTitles, isOwnPlan, type PlanName, plans } from '../../model/plan.ts';
import { listPets } from '../../store/pets/list.ts';
import { PREFIX } from '../../views/urls.ts';
import { publicPage, type Visit } from '../page.ts';
import { animalCards, contextOf } from '../pets/cards.ts';
import { scanOf } from '../pets/list-page.ts';

export const frontPage = publicPage({
  path: '/',
  title: 'Pet Store',
  cached: { forMs: 60_000 },
  show: async visit => ({
    title: 'Pet Store',
    description: 'List, hold and sell animals over a small, exact and fast JSON API.',
    layout: 'bare',
    scripts: ['front.js'],
    styles: ['animals.css', 'front.css'],
    body: html`<section class="hero"><div class="band">
<div>
<h1>${visit.deployment.name === 'staging' ? 'Try the whole store on staging' : 'The pet store you can build on'}</h1>
<p class="lead">${leadOf(visit)}</p>
<p class="actions"><a class="button" href="/sign-up">Create a free account</a> <a class="button secondary" href="/animals">Browse the animals</a></p>
<p class="quiet">Or <a href="/guides/operating/install">run your own store</a>: one command, open source.</p>
</div>
${exampleView(visit)}
</div></section>
${await animalsView(visit)}
<section class="band" aria-labelledby="features">
<h2 id="features">Small surface, exact behavior</h2>
<ul class="grid features">${features.map(
      ({ title, text, path, more }) => html`<li>
<h3>${title}</h3>
<p>${text}</p>
<p><a href="${path}">${more}</a></p>
</li>
`,
    )}</ul>
</section>
<section class="sunken"><div class="band">
<h2 id="plans">Plans</h2>
<p class="lead">The limits are exact, and every response says how many requests are left. A larger plan changes only the numbers.</p>
${planCards(visit.site.config.bounds)}
<p class="quiet">Every account has its limits once on production and once on staging. <a href="/guides/account">All bounds of the plans</a></p>
</div></section>
<section class="band" aria-labelledby="start">
<h2 id="start">Start here</h2>
<ul class="grid start">
<li><a href="/guides/quickstart">Quickstart</a> From a key to your first animal.</li>
<li><a href="/reference">API reference</a> Every operation, with examples that you can send.</li>
<li><a href="/guides">Guides</a> Pagination, retries, webhooks, synchronization and more.</li>
<li><a href="/openapi.json">OpenAPI document</a> Version 3.1, for generated clients and tools.</li>
</ul>
</section>`,
  }),
});

/** How many animals the page shows, and how many of the newest animals are searched for those with photos. */
const ANIMALS_SHOWN = 4;
const NEWEST_READ = 12;

/** Returns some of the newest animals that can be adopted; `undefined` if there are none. */
async function animalsView(visit: Visit): Promise<Html | undefined> {
  const { database } = visit.deployment;
  const page = { limit: NEWEST_READ, cursor: undefined, request: scanOf(visit) };
  const filter = { status: ['available'], sort: '-id' } as const;
  const { rows } = await listPets(database, filter, page, nowOf(visit.deployment), 'card');
  if (rows.length === 0) return undefined;
  const { withPhoto = [], without = [] } = Object.groupBy(rows, ({ photos = [] }) =>
    photos.length > 0 ? 'withPhoto' : 'without',
  );
  const shown = [...withPhoto, ...without].slice(0, ANIMALS_SHOWN);
  return html`<section class="band" aria-labelledby="animals">
<h2 id="animals">Looking for a home</h2>
${animalCards(shown, await contextOf(database, shown))}
<p><a href="/animals">All animals</a> · <a href="/organizations">Shelters and rescues</a></p>
</section>`;
}

function leadOf({ deployment }: Visit): string {
  return deployment.name === 'staging'
    ? 'Staging has the same API as production, with sample animals. Hold, order and delete whatever you like: nothing here is real.'
    : 'List, hold and sell animals through a JSON API: with orders that never collide, limits that are exact, and an event for every change.';
}

const FREE = spelled(plans.free.limits.perMinute);

const features = [
  {
    title: 'Exact limits',
    text: `${capitalized(FREE)} requests a minute are ${FREE}, in any sixty seconds and over all nodes. A restart does not reset them.`,
    path: '/guides/rate-limits',
    more: 'Rate limits and backoff',
  },
  {
    title: 'Holds and orders',
    text: 'A unique index of the database keeps two people from getting one animal. Holds end to the second.',
    path: '/guides/holds',
    more: 'Reserve an animal',
  },
  {
    title: 'Events and webhooks',
    text: 'Every change is in one ordered log: as pages, as a live stream, or signed to your endpoint, with retries.',
    path: '/guides/webhooks',
    more: 'Receive webhooks',
  },
  {
    title: 'Safe retries',
    text: 'Send an Idempotency-Key, and a repeated request gets the first response again instead of a second order.',
    path: '/guides/idempotency',
    more: 'Idempotent requests',
  },
  {
    title: 'Written to disk',
    text: 'A 201 means that the data is flushed. Power cuts, kills and full disks are part of the test suite.',
    path: '/guides/operating/durability',
    more: 'What survives a crash',
  },
  {
    title: 'Yours in one command',
    text: 'npm start serves everything from one process and one directory: SQLite, or PostgreSQL. Apache-2.0.',
    path: '/guides/operating/install',
    more: 'Install and run',
  },
] as const;

/**
 * Returns a card per plan, from the table that the limiter and the bounds use. @param set the bounds that the operator
 * has set
 */
function planCards(set: BoundSettings): Html {
  const names = Object.keys(plans) as PlanName[];
  return html`<ul class="grid plans">${names.map(plan => card(plan, set))}</ul>`;
}

function card(plan: PlanName, set: BoundSettings): Html {
  const { title, limits } = plans[plan];
  return html`<li class="card">
<h3>${title}</h3>
${
  limits === undefined
    ? html`<p class="rate"><strong>Custom</strong> requests a minute</p>
<p class="quiet">As agreed</p>`
    : html`<p class="rate"><strong>${countText(limits.perMinute)}</strong> requests a minute</p>
<p class="quiet">${countText(limits.perDay)} a day</p>`
}
<dl>${shown.map(bound => html`<div><dt>${boundTitles[bound]}</dt><dd>${countText(boundOf(set, { plan }, bound))}</dd></div>`)}</dl>
<p class="choose">${
    isOwnPlan(plan)
      ? html`<a class="button" href="/sign-up">Start with ${title}</a>`
      : html`<a class="button secondary" href="/guides/account#your-account-on-the-pages">How to get it</a>`
  }</p>
</li>`;
}

const shown = ['pets', 'openOrders', 'heldPets', 'categories', 'webhooks', 'streams'] as const;

const QUERY = '/pets?limit=3';

const { perMinute } = plans.free.limits;

/** The response of a new staging deployment to the example; the script replaces it with the current response. */
export const recordedResponse = {
  status: '200 OK',
  headers: { 'X-RateLimit-Limit': `${perMinute}`, 'X-RateLimit-Remaining': `${perMinute - 1}` },
  body: [
    { id: 1, name: 'Bella', categoryId: 1, status: 'available' },
    { id: 2, name: 'Oliver', categoryId: 2, status: 'available' },
    { id: 3, name: 'Peanut', categoryId: 4, status: 'pending' },
  ],
};

/** Returns a request with its response. If staging is served, a button sends the request. */
function exampleView({ site, request }: Visit): Html {
  const { status, headers, body } = recordedResponse;
  const staging = site.urlOf('staging', request.tls);
  const url = staging && staging + PREFIX + QUERY;
  return html`<section class="example" aria-label="Example request"${url !== undefined && html` data-request="${url}" data-url="/try/key"`}>
<div class="request"><pre><code>GET ${PREFIX + QUERY}
Authorization: Bearer petstore_test_…</code></pre>
<button type="button" hidden>Run it</button></div>
<p class="status" role="status">${status}</p>
<pre class="response" tabindex="0" aria-label="Response"><code>${Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`)}
${jsonText(body)}</code></pre>
<p class="source">${
    url === undefined
      ? 'A recorded response: this server has no staging deployment to run the example against.'
      : 'A recorded response from staging, which has sample animals.'
  }</p>
</section>`;
}

/** Returns an array as JSON with one element per line, in the format of the script. */
function jsonText(elements: readonly object[]): string {
  return `[\n${elements.map(element => `  ${JSON.stringify(element)}`).join(',\n')}\n]`;
}
