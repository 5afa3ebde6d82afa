import { nowOf } from '../../access/deployment.ts';
import { allowsActing, authoritiesOf } from '../../access/keys/authority.ts';
import { attemptLimits, requireAttempt } from '../../access/sessions/attempts.ts';
import { activateTested, testForActivation } from '../../events/deliveries/activate-webhook.ts';
import {
  ownerActorOf,
  prepareRedelivery,
  redeliverEvent,
  redeliverSince,
} from '../../events/deliveries/redeliveries.ts';
import { sendTest, storeTest } from '../../events/deliveries/test-delivery.ts';
import { deactivateWebhook, deleteWebhook, rotateWebhookSecret } from '../../events/webhooks/webhooks.ts';
import { Problem } from '../../lib/http/problem.ts';
import { BodyReader } from '../../lib/http/server/validation.ts';
import { parseTime } from '../../lib/time.ts';
import type { Static } from '../../lib/type.ts';
import { NewRedelivery } from '../../model/delivery.ts';
import { invalidBody } from '../../model/errors.ts';
import type { Actor } from '../../model/log/event.ts';
import { SECRET_OVERLAP_MS } from '../../model/rules.ts';
import { storedScopes } from '../../model/scopes.ts';
import { SecretRotation, webhookEtag } from '../../model/webhook.ts';
import { checkOf, formError } from '../forms.ts';
import { changeOnce } from '../once.ts';
import { accountPage, ownActor, type PageResult, type WebPage } from '../page.ts';
import { readChecked } from '../schema-form.ts';
import { chosenActor, KEY_ERROR } from './form.ts';
import { onWebhook, PATH, pathOn, type WebhookVisit } from './parts.ts';
import { secretView } from './secret-view.ts';
import { webhookView } from './webhook-view.ts';

/** A webhook: its health, its deliveries, and the forms that change it. */
export const webhookPage = accountPage({
  path: `${PATH}/{webhookId}`,
  permission: 'developers',
  title: 'Webhook',
  async show(visit) {
    const on = await onWebhook(visit);
    return on && webhookView(on);
  },
});

/**
 * Defines the page that receives a form of a webhook. If the form is rejected, the page shows the webhook with the
 * error.
 * @param field the field that an error is about; the whole form by default
 */
function action(
  name: string,
  title: string,
  work: (on: WebhookVisit) => Promise<PageResult>,
  { field = '', ...more }: { field?: string } & Partial<Pick<WebPage, 'showsSecret' | 'asksAgain'>> = {},
): WebPage {
  return accountPage({
    path: `${PATH}/{webhookId}/${name}`,
    permission: 'developers',
    title,
    ...more,
    async show(visit) {
      const on = await onWebhook(visit);
      return on && { location: pathOn(on, `/${on.webhook.id}`) };
    },
    async submit(visit) {
      const on = await onWebhook(visit);
      if (on === undefined) return undefined;
      try {
        return await work(on);
      } catch (error) {
        if (error instanceof Problem && error.status === 429) throw error;
        const message = formError(error);
        // The work may have changed the webhook, or stored a failed test.
        const now = await onWebhook(visit);
        return now && webhookView(now, { [visit.form.has(field) ? field : '']: message });
      }
    },
  });
}

/** Sends a test, and shows its outcome. */
const testWebhookPage = action('test', 'Test a webhook', async on => {
  const { deployment, origin, webhook } = on;
  const { database } = deployment;
  await countTest(on);
  const allowed = () => isAllowed(on, ownActor(on));
  const result = await sendTest(database, deployment.webhooks, webhook, nowOf(deployment), allowed);
  const { id } = await database.write(tx => storeTest(tx, webhook.id, result), origin);
  return { location: pathOn(on, `/${webhook.id}/deliveries/${id}`) };
});

/** Tests and activates a webhook, which then acts for the account or the chosen key. */
const activateWebhookPage = action('activation', 'Activate a webhook', async on => {
  const { deployment, origin, webhook } = on;
  const check = checkOf(on, 'webhook');
  check(webhookEtag(webhook));
  const actor = await chosenActor(on, webhook.keyId);
  if (actor === undefined) return webhookView(on, { key: KEY_ERROR });
  if (webhook.status !== 'active') {
    await countTest(on);
    await testForActivation(deployment, webhook, () => isAllowed(on, actor));
  }
  await deployment.database.write(tx => activateTested(tx, actor, webhook, check), origin);
  deployment.webhooks.wake?.();
  return done(on, 'activated');
});

const deactivateWebhookPage = action('deactivation', 'Deactivate a webhook', async on => {
  const { deployment, origin, webhook } = on;
  await deployment.database.write(tx => deactivateWebhook(tx, ownActor(on), webhook.id), origin);
  return done(on, 'deactivated');
});

/** Delivers one event again, or all since a time. */
const redeliverPage = action(
  'redeliveries',
  'Deliver again',
  async on => {
    const { deployment, origin, webhook, form } = on;
    const { id } = webhook;
    const retainedFrom = (now: number) => now - deployment.eventsKeptMs;
    const eventId = form.get('eventId');
    if (eventId !== null) {
      const body = readChecked<{ eventId: string }>(newRedelivery, { eventId });
      const owner = await ownerActorOf(deployment, webhook);
      await deployment.database.write(
        tx => redeliverEvent(tx, ownActor(on), id, body.eventId, owner, retainedFrom(tx.now)),
        origin,
      );
    } else {
      const since = timeIn(form);
      await prepareRedelivery(deployment, since);
      await deployment.database.write(tx => redeliverSince(tx, ownActor(on), id, since, retainedFrom(tx.now)), origin);
    }
    deployment.webhooks.wake?.();
    return done(on, eventId === null ? 'replayed' : 'redelivered');
  },
  { field: 'since' },
);

/** Replaces the secret of a webhook, and shows the new one once. */
const rotateSecretPage = action(
  'secrets',
  'Rotate a secret',
  async on => {
    const { deployment, webhook, form } = on;
    const { id } = webhook;
    const overlap = form.get('overlap') ?? '';
    const entries = overlap === '' ? {} : { overlapSeconds: Number(overlap) };
    const { overlapSeconds = SECRET_OVERLAP_MS / 1000 } = readChecked<Static<typeof SecretRotation>>(
      secretRotation,
      entries,
    );
    let rotated: Awaited<ReturnType<typeof rotateWebhookSecret>> | undefined;
    const { isRepeated, location } = await changeOnce(on, `rotateWebhookSecret ${id}`, { overlap }, async tx => {
      rotated = await rotateWebhookSecret(tx, ownActor(on), id, overlapSeconds, deployment.webhooks.encryptor);
      return pathOn(on, `/${id}`, { done: 'shown' });
    });
    if (isRepeated) return { location: location! };
    const { secret, previousExpiresAt } = rotated!;
    return secretView(on, { title: 'Your new secret is ready', id, secret, previousExpiresAt });
  },
  { showsSecret: true, asksAgain: 'everyone' },
);

const deleteWebhookPage = action('deletion', 'Delete a webhook', async on => {
  const { deployment, origin, webhook } = on;
  await deployment.database.write(tx => deleteWebhook(tx, ownActor(on), webhook.id), origin);
  return { location: pathOn(on, '', { done: 'deleted' }) };
});

/** The pages that receive the forms of a webhook. */
export const webhookActions: readonly WebPage[] = [
  testWebhookPage,
  activateWebhookPage,
  deactivateWebhookPage,
  redeliverPage,
  rotateSecretPage,
  deleteWebhookPage,
];

const newRedelivery = new BodyReader(NewRedelivery);
const secretRotation = new BodyReader(SecretRotation);

/** Returns the time of the form. Browsers send it without seconds. */
function timeIn(form: URLSearchParams): number {
  const text = form.get('since') ?? '';
  const since = /T\d\d:\d\d$/.test(text) ? `${text}:00Z` : `${text}Z`;
  if ('errors' in newRedelivery.read({ since }, true)) {
    throw invalidBody('/since', 'invalid_value', 'Enter a date and a time, such as 2026-11-22T08:00.');
  }
  return parseTime(since)!;
}

/** Reports whether an actor may still act: its account, and its key if it has one. */
async function isAllowed(
  { site, deployment }: WebhookVisit,
  { accountId, keyId, scopes }: Actor & { readonly accountId: number },
): Promise<boolean> {
  const now = nowOf(deployment);
  const [authority] = await authoritiesOf(
    site.accounts,
    [{ accountId, keyId: keyId ?? null, scopes: storedScopes(scopes) }],
    now,
  );
  return allowsActing(authority!, now);
}

/** @throws {Problem} `too_many_attempts` */
async function countTest({ site, account }: WebhookVisit): Promise<void> {
  await requireAttempt(site.accounts, attemptLimits.webhookTests, String(account.id));
}

function done(on: WebhookVisit, name: string): PageResult {
  return { location: pathOn(on, `/${on.webhook.id}`, { done: name }) };
}
