import { createKey, findKey, listKeys } from '../../access/keys/keys.ts';
import { findActiveBan } from '../../access/limits/bans.ts';
import { attemptLimits, countAttempt, tooManyAttempts } from '../../access/sessions/attempts.ts';
import type { SignedIn } from '../../access/sessions/session.ts';
import { revokeKeyAndDependents, rotateKeyAndDependents } from '../../events/webhooks/key-changes.ts';
import { Problem } from '../../lib/http/problem.ts';
import { HOUR_MS, parseDuration } from '../../lib/time.ts';
import { UserError, userErrorOf } from '../../lib/user-error.ts';
import { limitsOfAccount } from '../../model/account.ts';
import {
  budgetOf,
  checkBudget,
  checkKeyName,
  type IssuedKey,
  type Key,
  keyState,
  type NewKey,
  networkText,
} from '../../model/key.ts';
import { includesScopes, roles } from '../../model/roles.ts';
import { KEY_OVERLAP_HOURS } from '../../model/rules.ts';
import type { DeploymentName } from '../../model/schema.ts';
import { EVERY_SCOPE, scopes, scopeText } from '../../model/scopes.ts';
import { changeOnce, changeOnceAfter } from '../once.ts';
import { type AccountVisit, accountPage } from '../page.ts';
import type { Texts } from '../schema-form.ts';
import { keyDatabases, nowOf } from '../site.ts';
import { endedImports, issuedView, type KeyErrors, keysView, keyView, newKeyView } from './views.ts';

/** The maximum number of active keys that an owner can create. */
const KEYS_MAX = 100;

/** The keys of the account. */
export const keysPage = accountPage({
  path: '/keys',
  permission: 'developers',
  title: 'API keys',
  menu: 'developers',
  async show(visit) {
    const { site, account, query } = visit;
    const keys = await listKeys(site.accounts, account.id);
    const revoked = keys.find(({ id }) => id === query.get('revoked'));
    return keysView(visit, keys, nowOf(site), revoked && (await endedImports(site, revoked, true)));
  },
});

/**
 * Creates a key, and shows its token once. If the form is sent again, as browsers do when the page is reloaded, shows
 * the key without its token.
 */
export const newKeyPage = accountPage({
  path: '/keys/new',
  permission: 'developers',
  asksAgain: 'everyone',
  showsSecret: true,
  title: 'New API key',
  show: visit => newKeyView(visit),
  async submit(visit) {
    const { site, account } = visit;
    await countChange(visit);
    const { key, errors } = newKeyOf(visit);
    if (Object.values(errors).some(error => error !== undefined)) return newKeyView(visit, errors);
    try {
      let issued: IssuedKey | undefined;
      const created = await changeOnce(accountsVisit(visit), 'newKey', textsIn(visit), async tx => {
        const active = (await listKeys(tx, account.id)).filter(one => keyState(one, tx.now) === 'active');
        if (active.length >= KEYS_MAX) throw new UserError(`You have ${active.length} active keys. Revoke one first.`);
        issued = await createKey(tx, key, site.config.keyLifetimeDays);
        return shownPath(issued);
      });
      return created.isRepeated ? { location: created.location! } : issuedView(visit, issued!, 'Your key is ready');
    } catch (error) {
      if (error instanceof UserError) return newKeyView(visit, { '': error.message });
      throw error;
    }
  },
});

/** A key: its permissions, its ban, and the forms to rotate and to revoke it. */
export const keyPage = accountPage({
  path: '/keys/{keyId}',
  permission: 'developers',
  title: 'API key',
  async show(visit) {
    const key = await ownKey(visit);
    if (key === undefined) return undefined;
    const { site } = visit;
    return keyView(visit, key, await findActiveBan(site.accounts, key.id, nowOf(site)), nowOf(site));
  },
});

/** Replaces a key, and shows the token of the new key once. */
export const rotateKeyPage = accountPage({
  path: '/keys/{keyId}/rotate',
  permission: 'developers',
  asksAgain: 'everyone',
  showsSecret: true,
  title: 'Rotate an API key',
  async submit(visit) {
    const { site, form, origin } = visit;
    const key = await ownKey(visit);
    if (key === undefined) return undefined;
    if (keyState(key, nowOf(site)) !== 'active') return { location: `/keys/${key.id}` };
    const refused = roleError(visit.signedIn, key.scopes);
    if (refused !== undefined) throw new Problem('role_not_allowed', 403, refused);
    await countChange(visit);
    const overlapMs = parseDuration(form.get('overlap') ?? '') ?? KEY_OVERLAP_HOURS * HOUR_MS;
    const options = { overlapMs, maxDays: site.config.keyLifetimeDays, origin };
    let issued: IssuedKey | undefined;
    const rotated = await changeOnceAfter(accountsVisit(visit), `rotateKey ${key.id}`, {}, async () => {
      ({ issued } = await rotateKeyAndDependents(keyDatabases(site, key), key.id, options));
      return shownPath(issued);
    });
    return rotated.isRepeated ? { location: rotated.location! } : issuedView(visit, issued!, 'Your new key is ready');
  },
});

/** Revokes a key. */
export const revokeKeyPage = accountPage({
  path: '/keys/{keyId}/revoke',
  permission: 'developers',
  title: 'Revoke an API key',
  async submit(visit) {
    const key = await ownKey(visit);
    if (key === undefined) return undefined;
    const keepWebhooks = visit.form.get('keepWebhooks') === 'yes';
    await revokeKeyAndDependents(keyDatabases(visit.site, key), key.id, { keepWebhooks, origin: visit.origin });
    return { location: `/keys?revoked=${key.id}` };
  },
});

/** Returns the key that the path names; `undefined` if the account has no such key. */
async function ownKey({ site, account, parameters }: AccountVisit): Promise<Key | undefined> {
  const key = await findKey(site.accounts, parameters['keyId']!);
  return key?.accountId === account.id ? key : undefined;
}

/** Returns the error of scopes that the role of a member may not give to a key; `undefined` if it may. */
function roleError({ role, scopes }: SignedIn, wanted: readonly string[]): string | undefined {
  if (includesScopes(scopes, wanted)) return undefined;
  const title = roles[role].title.toLowerCase();
  return scopes.length === 0
    ? 'Keys of this account act for the whole store. Only an owner can create them.'
    : `Your role, ${title}, has keys only with ${scopes.join(', ')}. Ask an owner for more.`;
}

/** Returns the path of the page of a key whose token was shown. */
function shownPath({ id }: IssuedKey): string {
  return `/keys/${id}?shown=yes`;
}

/**
 * Returns the visit with the deployment whose database has the keys, regardless of the deployment that has the portal.
 */
function accountsVisit(visit: AccountVisit): AccountVisit {
  return { ...visit, deployment: visit.site.deployments.get('production')! };
}

/** Returns the entries of the form, which identify a form that is sent again. */
function textsIn({ form }: AccountVisit): Texts {
  const names = new Set(form.keys()).difference(new Set(['token']));
  return Object.fromEntries(Array.from(names, name => [name, form.getAll(name).join(' ')]));
}

/** @throws {Problem} when the account creates keys too often */
async function countChange({ site, account }: AccountVisit): Promise<void> {
  const waitMs = await site.accounts.write(tx => countAttempt(tx, attemptLimits.newKeys, String(account.id)));
  if (waitMs > 0) throw tooManyAttempts(waitMs);
}

/** Returns the key that the form describes, and the errors of the fields. */
function newKeyOf({ site, account, signedIn, form }: AccountVisit): { key: NewKey; errors: KeyErrors } {
  const deployment: DeploymentName = form.get('deployment') === 'production' ? 'production' : 'staging';
  const name = form.get('name')?.trim() ?? '';
  const networks = (form.get('networks') ?? '').split(/[\s,]+/).filter(Boolean);
  const lifetimeMs = parseDuration(form.get('expires') ?? '');
  const [perMinute, perDay] = [limitIn(form, 'perMinute'), limitIn(form, 'perDay')];
  const budget = budgetOf(perMinute, perDay);
  const chosen = scopesOf(form);
  const limits = limitsOfAccount(account);
  const errors = {
    name: name === '' ? 'Give the key a name, so that you recognize it later.' : userErrorOf(() => checkKeyName(name)),
    deployment: site.deployments.has(deployment) ? undefined : `This server has no ${deployment} deployment.`,
    scope:
      chosen.length === 0
        ? 'Choose at least one scope.'
        : (userErrorOf(() => scopeText(chosen)) ?? roleError(signedIn, chosen)),
    networks: userErrorOf(() => networkText(networks)),
    perMinute: userErrorOf(() => checkBudget(budgetOf(perMinute, null) ?? {}, limits)),
    perDay: userErrorOf(() => checkBudget(budgetOf(null, perDay) ?? {}, limits)),
  };
  const key = {
    accountId: account.id,
    ...{ deployment, name, scopes: chosen },
    ...(networks.length > 0 && { networks }),
    ...(budget !== undefined && { budget }),
    ...(lifetimeMs !== undefined && { expiresAt: nowOf(site) + lifetimeMs }),
  };
  return { key, errors };
}

/**
 * Returns a limit of the form; `null` if it is empty. Text that is not a number is rejected together with the budget.
 */
function limitIn(form: URLSearchParams, name: string): number | null {
  const text = form.get(name)?.trim() ?? '';
  return text === '' ? null : Number(text);
}

/** Returns the chosen scopes; an empty list if "single scopes" is chosen but no scope. */
function scopesOf(form: URLSearchParams): string[] {
  const access = form.get('access');
  if (access === 'read') return Object.keys(scopes).filter(scope => scope.endsWith(':read'));
  if (access !== 'chosen') return [EVERY_SCOPE];
  return form.getAll('scope');
}
