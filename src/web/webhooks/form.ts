import { nowOf } from '../../access/deployment.ts';
import { listKeys } from '../../access/keys/keys.ts';
import { type Html, html } from '../../lib/html/html.ts';
import type { FieldError } from '../../lib/http/problem.ts';
import { NAME_LENGTH_MAX } from '../../lib/text.ts';
import { type Key, keyState } from '../../model/key.ts';
import type { Actor } from '../../model/log/event.ts';
import { EventTypes } from '../../model/public-event.ts';
import { includesScopes } from '../../model/roles.ts';
import { EVERY_SCOPE, scopeSet } from '../../model/scopes.ts';
import { type NewWebhook, type WebhookPatch, type WebhookRow, webhookOf } from '../../model/webhook.ts';
import { assertFormProblem, type Choice, choices, field, select } from '../forms.ts';
import { idOf } from '../lists.ts';
import { type AccountVisit, type FormErrors, ownActor } from '../page.ts';
import { SCOPE } from './parts.ts';

/** The entries of the form of a webhook. */
export interface Entries {
  readonly url: string;
  /** Whether the webhook receives every event, or those of `types`. */
  readonly events: 'all' | 'chosen';
  readonly types: readonly string[];
  /** Ids, separated by spaces. */
  readonly categoryIds: string;
  readonly description: string;
}

export const noEntries: Entries = { url: '', events: 'all', types: [], categoryIds: '', description: '' };

/** The event types to choose from: each group, such as `pet.*`, before its own. */
const offered: readonly string[] = [
  ...Map.groupBy<string, string>(EventTypes.items.enum, type => type.slice(0, type.indexOf('.'))).values(),
].flat();

/** Returns the submitted entries. */
export function entriesIn({ form }: Pick<AccountVisit, 'form'>): Entries {
  const text = (name: string) => form.get(name)?.trim() ?? '';
  return {
    url: text('url'),
    events: form.get('events') === 'chosen' ? 'chosen' : 'all',
    types: form.getAll('types'),
    categoryIds: text('categoryIds'),
    description: text('description'),
  };
}

/** Returns the entries that show a webhook. */
export function entriesOf(webhook: WebhookRow): Entries {
  const { url, types = [], categoryIds = [], description = '' } = webhookOf(webhook);
  const events = webhook.types === null ? 'all' : 'chosen';
  return {
    ...{ url, events, description, categoryIds: categoryIds.join(' ') },
    types: offered.filter(type => (types as readonly string[]).includes(type)),
  };
}

/** Returns the body of a new webhook, which is to be validated. */
export function bodyOf({ url, events, types, categoryIds, description }: Entries): Partial<NewWebhook> {
  const ids = categoryIds.split(/[\s,]+/).filter(id => id !== '');
  const body = {
    ...(url !== '' && { url }),
    ...(events === 'chosen' && { types }),
    // Text that is not an id stays text, so that the schema rejects it.
    ...(ids.length > 0 && { categoryIds: ids.map(id => idOf(id) ?? id) }),
    ...(description !== '' && { description }),
  };
  return body as Partial<NewWebhook>;
}

/** Returns the merge patch of the entries that differ from those that were shown. */
export function patchOf(sent: Entries, shown: Entries): WebhookPatch {
  const [after, before] = [bodyOf(sent), bodyOf(shown)];
  const names = ['url', 'types', 'categoryIds', 'description'] as const;
  const changed = names.filter(name => JSON.stringify(after[name]) !== JSON.stringify(before[name]));
  return Object.fromEntries(changed.map(name => [name, after[name] ?? null])) as WebhookPatch;
}

const labels: Readonly<Record<string, string>> = {
  url: 'URL',
  types: 'Event types',
  categoryIds: 'Categories',
  description: 'Description',
};

/** Messages in place of those of the schema, by the paths of the errors. */
const messages: readonly (readonly [path: RegExp, message: string])[] = [
  [/^\/types$/, 'Choose at least one type, and at most 50; a whole group counts as one.'],
  [/^\/categoryIds\/\d+$/, 'Enter the ids of categories, such as 2 5.'],
];

/**
 * Returns the errors of a rejected form: by field, and with the labels of the fields for their list.
 * @throws any error that is not about the form
 */
export function errorsOf(error: unknown, { url }: Entries) {
  assertFormProblem(error);
  const texts = ({ path, message }: FieldError): [string, string] => {
    const name = path.split('/')[1]!;
    if (name === 'url' && url === '') return [name, 'Enter the URL of your receiver.'];
    return [name, messages.find(([pattern]) => pattern.test(path))?.[1] ?? message];
  };
  const fields = Object.fromEntries((error.errors ?? []).toReversed().map(texts));
  const listed: FormErrors = Object.fromEntries(
    Object.entries(fields).map(([name, text]) => [
      name,
      Object.hasOwn(labels, name) ? `${labels[name]}: ${text}` : text,
    ]),
  );
  return { fields, listed: error.errors === undefined ? { '': error.message } : listed };
}

/** Returns the fields of a webhook. @param errors by field */
export function fieldsView(entries: Entries, errors: Readonly<Record<string, string>> = {}): Html {
  const { url, events, types, categoryIds, description } = entries;
  const kinds = [
    { value: 'all', label: 'Every event', hint: 'Also those of later releases.' },
    { value: 'chosen', label: 'Only these types' },
  ];
  const single = offered.map(value => ({
    value,
    label: html`<code>${value}</code>`,
    checked: types.includes(value),
  }));
  return html`${field({
    ...{ name: 'url', label: labels['url'], value: url, error: errors['url'], maxLength: 2048 },
    hint: html`Where your receiver listens, such as <code>https://example.org/petstore</code>: <code>https</code>, with a public address.`,
  })}
${choices('radio', {
  name: 'events',
  label: 'Events',
  choices: kinds.map(kind => ({ ...kind, checked: kind.value === events })),
})}
${choices('checkbox', { name: 'types', label: labels['types']!, choices: single, error: errors['types'] })}
${field({
  ...{ name: 'categoryIds', label: labels['categoryIds'], value: categoryIds, error: errors['categoryIds'] },
  hint: 'Ids, separated by spaces: only events about these categories, and about animals in them. If you enter none, the webhook receives those of all.',
  optional: true,
})}
${field({
  ...{ name: 'description', label: labels['description'], value: description, error: errors['description'] },
  hint: 'What the receiver does, so that you recognize it later.',
  optional: true,
  maxLength: NAME_LENGTH_MAX,
})}`;
}

/**
 * Returns the active keys of the account that may have webhooks on the deployment, newest first. Omits keys with scopes
 * that the member may not give to a key.
 */
async function usableKeys({ site, account, signedIn, deployment }: AccountVisit): Promise<Key[]> {
  const now = nowOf(deployment);
  const keys = await listKeys(site.accounts, account.id);
  return keys
    .filter(key => key.deployment === deployment.name && keyState(key, now) === 'active')
    .filter(({ scopes }) => scopes.includes(EVERY_SCOPE) || scopes.includes(SCOPE))
    .filter(({ scopes }) => includesScopes(signedIn.scopes, scopes))
    .toReversed();
}

/** The choice of the account itself, in place of one of its keys. */
const ACCOUNT = 'account';

export const KEY_ERROR = 'Choose your account, or one of its active keys.';

/**
 * Returns the field to choose for whom a webhook acts; nothing if only the account is possible, and was chosen before.
 * It keeps the key that a webhook has. If that key has ended, nothing is chosen, so that the webhook does not receive
 * more by accident.
 * @param keyId the key that the webhook depends on; null for the account
 */
export async function keyField(visit: AccountVisit, keyId: string | null, error?: string): Promise<Html | undefined> {
  const keys = await usableKeys(visit);
  const current = keyId === null ? ACCOUNT : (keys.find(({ id }) => id === keyId)?.id ?? '');
  if (keys.length === 0 && current === ACCOUNT) return undefined;
  const wanted = visit.form.get('key') ?? current;
  const options: Choice[] = [
    ...(current === '' ? [{ value: '', label: 'Choose' }] : []),
    { value: ACCOUNT, label: 'Your account' },
    ...keys.map(({ id, name }) => ({ value: id, label: `${name ?? 'Key'} (${id})` })),
  ];
  return select({
    ...{ name: 'key', label: 'Acts for', error, ...(current === '' && { required: true }) },
    hint: 'Your account: it receives every event that the account can see. A key: only those that its scopes allow, until the key is revoked or expires.',
    choices: options.map(choice => ({ ...choice, checked: choice.value === wanted })),
  });
}

/**
 * Returns the actor for whom the webhook of the form acts: the account with the scopes that the member may give to a
 * key, or a key of the account with its scopes.
 * @param keyId the key that the webhook depends on, which is the default; null for the account
 * @returns `undefined` if the account has no such key that is active and may have webhooks
 */
export async function chosenActor(
  visit: AccountVisit,
  keyId: string | null,
): Promise<(Actor & { readonly accountId: number }) | undefined> {
  if (!includesScopes(visit.signedIn.scopes, [SCOPE])) return undefined;
  const chosen = visit.form.get('key') ?? keyId ?? ACCOUNT;
  const actor = (scopes: readonly string[]) => ({ ...ownActor(visit), scopes: scopeSet(scopes.join(' ')) });
  if (chosen === ACCOUNT) return actor(visit.signedIn.scopes);
  const key = (await usableKeys(visit)).find(({ id }) => id === chosen);
  return key && { ...actor(key.scopes), keyId: key.id };
}
