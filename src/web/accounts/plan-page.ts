import { updateAccount } from '../../access/accounts/accounts.ts';
import { html } from '../../lib/html/html.ts';
import { countText } from '../../lib/text.ts';
import { limitsOfAccount } from '../../model/account.ts';
import { isOwnPlan, type Limits, ownPlans, plans } from '../../model/plan.ts';
import { choices, doneNotice, form } from '../forms.ts';
import { type AccountVisit, accountPage, type View } from '../page.ts';

/** The plan of the account, and the form that changes it. */
export const planPage = accountPage({
  path: '/account/plan',
  permission: 'account',
  title: 'Plan',
  menu: 'account',
  show: visit => planView(visit),
  async submit(visit) {
    const { site, account, origin, form } = visit;
    const plan = form.get('plan');
    if (!isOwnPlan(plan)) return planView(visit, 'Choose Free or Pro. Ask the operator for other plans.');
    if (!isOwnPlan(account.plan)) return planView(visit, 'Ask the operator for another plan.');
    if (plan === 'pro' && account.emailConfirmedAt === undefined) {
      return planView(visit, 'Confirm your e-mail address first.');
    }
    await site.accounts.write(tx => updateAccount(tx, account.id, { plan }), origin);
    return { location: '/account/plan?done=plan' };
  },
});

const done = { plan: 'Your plan is changed.' };

function planView(visit: AccountVisit, error?: string): View {
  const { account } = visit;
  return {
    errors: { plan: error },
    body: html`${doneNotice(visit, done)}
<p>The plan sets how many requests the programs with your <a href="/keys">API keys</a> may send to each deployment, and how much you can store. <a href="/account#use">What you use</a></p>
${isOwnPlan(account.plan) ? choiceView(visit, error) : currentView(visit)}`,
  };
}

function currentView({ account }: AccountVisit) {
  return html`<p><strong>${plans[account.plan].title}</strong>: ${limitsText(limitsOfAccount(account))}</p>
<p class="hint">Ask the operator of the store for another plan.</p>`;
}

function choiceView(visit: AccountVisit, error: string | undefined) {
  const { account } = visit;
  return html`${form(visit, { action: '/account/plan', submit: 'Change the plan' }, [
    choices('radio', {
      name: 'plan',
      label: 'Plan',
      error,
      choices: ownPlans.map(value => ({
        value,
        label: plans[value].title,
        hint: limitsText(plans[value].limits),
        checked: value === account.plan,
      })),
    }),
  ])}
${account.emailConfirmedAt === undefined && html`<p class="hint">Pro needs a confirmed e-mail address.</p>`}
<p class="hint">Business has ${limitsText(plans.business.limits)}, and Enterprise the limits that you agree on. Ask the operator of the store for them.</p>`;
}

function limitsText({ perMinute, perDay }: Limits): string {
  return `${countText(perMinute)} requests a minute and ${countText(perDay)} a day`;
}
