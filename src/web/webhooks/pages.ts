import { deliveryHealthOf } from '../../events/deliveries/health.ts';
import { createWebhook, listWebhooks, updateWebhook } from '../../events/webhooks/webhooks.ts';
import { html, timeHtml } from '../../lib/html/html.ts';
import { BodyReader } from '../../lib/http/server/validation.ts';
import { boundOf } from '../../model/plan.ts';
import { NewWebhook, WebhookPatch, type WebhookRow, webhookEtag } from '../../model/webhook.ts';
import { deploymentTabs } from '../deployments.ts';
import { checkOf, doneNotice, form, hidden } from '../forms.ts';
import { listPage, pageLinks } from '../lists.ts';
import { changeOnce, onceField } from '../once.ts';
import { type AccountVisit, accountPage, ownActor, type View } from '../page.ts';
import { table } from '../parts.ts';
import { readChecked } from '../schema-form.ts';
import {
  bodyOf,
  chosenActor,
  type Entries,
  entriesIn,
  entriesOf,
  errorsOf,
  fieldsView,
  KEY_ERROR,
  keyField,
  noEntries,
  patchOf,
} from './form.ts';
import {
  onDeployment,
  onWebhook,
  PATH,
  pathOn,
  pendingText,
  stateOf,
  styles,
  successText,
  typesText,
  type WebhookVisit,
} from './parts.ts';
import { secretView } from './secret-view.ts';

const newWebhook = new BodyReader(NewWebhook);
const webhookPatch = new BodyReader(WebhookPatch);

/** The webhooks of the account on a deployment, with their health. */
export const webhooksPage = accountPage({
  path: PATH,
  permission: 'developers',
  title: 'Webhooks',
  menu: 'developers',
  async show(visit) {
    const on = onDeployment(visit);
    if (on === undefined) return undefined;
    const { database, name } = on.deployment;
    const { rows, ...links } = await listWebhooks(database, ownActor(on), listPage(on));
    const health = await deliveryHealthOf(
      database,
      rows.map(({ id }) => id),
    );
    const columns = {
      URL: (row: WebhookRow) => html`<a href="${pathOn(on, `/${row.id}`)}"><bdi>${row.url}</bdi></a>
${row.description !== null && html`<span class="quiet"><bdi>${row.description}</bdi></span>`}`,
      State: stateOf,
      Events: typesText,
      Delivered: ({ id }: WebhookRow) => successText(health.get(id)!),
      'Last success': ({ id }: WebhookRow) => {
        const at = health.get(id)!.lastDeliveredAt;
        return at === null ? 'Never' : timeHtml(at);
      },
      Pending: ({ id }: WebhookRow) => pendingText(health.get(id)!),
    };
    return {
      description: 'Create, test and repair webhooks.',
      styles,
      body: html`${doneNotice(visit, { deleted: 'The webhook is deleted.' })}
<p class="lead">A webhook sends your receiver each event as it happens, signed and in order.</p>
${deploymentTabs(visit, PATH, name)}
<p><a class="button" href="${pathOn(on, '/new')}">New webhook</a></p>
${table('Webhooks', columns, rows, html`<strong>No webhooks</strong> on ${name}. <a href="/guides/receive-webhooks">Write a receiver</a> in ten minutes.`)}
${pageLinks(visit, links)}`,
    };
  },
});

/**
 * Creates a webhook, and shows its secret once. If the form is sent again, as browsers do when the page is reloaded,
 * shows the webhook without its secret.
 */
export const newWebhookPage = accountPage({
  path: `${PATH}/new`,
  permission: 'developers',
  asksAgain: 'everyone',
  showsSecret: true,
  title: 'New webhook',
  show(visit) {
    const on = onDeployment(visit);
    return on && newView(on, noEntries);
  },
  async submit(visit) {
    const on = onDeployment(visit);
    if (on === undefined) return undefined;
    const entries = entriesIn(on);
    const actor = await chosenActor(on, null);
    if (actor === undefined) return newView(on, entries, keyErrors);
    const { webhooks, bounds } = on.deployment;
    const rules = { networks: webhooks.networks, max: boundOf(bounds, on.account, 'webhooks') };
    try {
      const body = readChecked<NewWebhook>(newWebhook, bodyOf(entries));
      let secret = '';
      let id = 0;
      const created = await changeOnce(on, 'newWebhook', textsOf(on, entries), async tx => {
        const made = await createWebhook(tx, actor, body, rules, webhooks.encryptor);
        secret = made.secret;
        id = made.webhook.id;
        return pathOn(on, `/${id}`, { done: 'shown' });
      });
      return created.isRepeated
        ? { location: created.location! }
        : secretView(on, { title: 'Your webhook is ready', id, secret });
    } catch (error) {
      return newView(on, entries, errorsOf(error, entries));
    }
  },
});

/** Changes a webhook. Only entries that differ from those that were shown are changed. */
export const editWebhookPage = accountPage({
  path: `${PATH}/{webhookId}/edit`,
  permission: 'developers',
  asksAgain: 'everyone',
  title: 'Edit a webhook',
  async show(visit) {
    const on = await onWebhook(visit);
    return on && editView(on, entriesOf(on.webhook));
  },
  async submit(visit) {
    const on = await onWebhook(visit);
    if (on === undefined) return undefined;
    const { deployment, origin, webhook } = on;
    const entries = entriesIn(on);
    try {
      const patch = readChecked<WebhookPatch>(webhookPatch, patchOf(entries, entriesOf(webhook)));
      const changed = await deployment.database.write(
        tx => updateWebhook(tx, ownActor(on), webhook.id, patch, deployment.webhooks, checkOf(on, 'webhook')),
        origin,
      );
      return { location: pathOn(on, `/${webhook.id}`, { done: changed.url === webhook.url ? 'saved' : 'moved' }) };
    } catch (error) {
      return editView(on, entries, errorsOf(error, entries));
    }
  },
});

/** The class of the form of a webhook. */
const FORM = 'stacked webhook';

type Errors = ReturnType<typeof errorsOf>;

const keyErrors: Errors = { fields: { key: KEY_ERROR }, listed: { key: `Acts for: ${KEY_ERROR}` } };

async function newView(on: AccountVisit, entries: Entries, errors?: Errors): Promise<View> {
  return {
    title: 'New webhook',
    styles,
    errors: errors?.listed,
    body: html`${deploymentTabs(on, `${PATH}/new`, on.deployment.name)}
${form(on, { action: pathOn(on, '/new'), submit: 'Create webhook', className: FORM }, [
  onceField(on),
  fieldsView(entries, errors?.fields),
  await keyField(on, null, errors?.fields['key']),
])}
<p><a href="${pathOn(on)}">Cancel</a></p>`,
  };
}

function editView(on: WebhookVisit, entries: Entries, errors?: Errors): View {
  const { webhook } = on;
  const path = pathOn(on, `/${webhook.id}`);
  return {
    title: `Edit webhook ${webhook.id}`,
    styles,
    errors: errors?.listed,
    body: html`<p>A new URL makes the webhook inactive until you activate it again.</p>
${form(on, { action: pathOn(on, `/${webhook.id}/edit`), submit: 'Save', className: FORM }, [
  hidden('etag', on.form.get('etag') ?? webhookEtag(webhook)),
  fieldsView(entries, errors?.fields),
])}
<p><a href="${path}">Cancel</a></p>`,
  };
}

/** Returns the entries of the form as texts, which identify a form that is sent again. */
function textsOf({ form: sent }: AccountVisit, { types, ...entries }: Entries) {
  return { ...entries, types: types.join(' '), key: sent.get('key') ?? '' };
}
