import { type Html, html } from '../../lib/html/html.ts';
import { countText } from '../../lib/text.ts';
import { type BoundSettings, boundOf, boundTitles, isOwnPlan, type PlanName, plans } from '../../plans/plan.ts';

/** Returns a card per plan, from the table that the limiter and the bounds use. @param set the bounds of the operator */
export function planCards(set: BoundSettings): Html {
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
