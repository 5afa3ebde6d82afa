import { parseDuration } from '../lib/time.ts';
import { UserError } from '../lib/user-error.ts';
import { findActiveBan } from '../limits/bans.ts';
import type { DeploymentName } from '../schema.ts';
import { attemptLimits, countAttempt, tooManyAttempts } from '../sessions/attempts.ts';
import { type AccountVisit, accountPage } from '../web/page.ts';
import { keyDatabases, nowOf } from '../web/site.ts';
import { revokeKeyAndDependents, rotateKeyAndDependents } from '../webhooks/key-changes.ts';
import { budgetOf, EVERY_SCOPE, type Key, keyState, type NewKey, scopes } from './key.ts';
import { createKey, findKey, listKeys } from './keys.ts';
import { endedImports, issuedView, keysView, keyView, newKeyView } from './views.ts';

/** The most active keys that an owner can create. */
const KEYS_MAX = 100;

/** The keys of the account. */
export const keysPage = accountPage({
  path: '/keys',
  title: 'API keys',
  menu: 'account',
  async show(visit) {
    const { site, account, query } = visit;
    const keys = await listKeys(site.accounts, account.id);
    const revoked = keys.find(({ id }) => id === query.get('revoked'));
    return keysView(visit, keys, nowOf(site), revoked && (await endedImports(site, revoked, true)));
  },
});

/** Creates a key, and shows its token this once. */
export const newKeyPage = accountPage({
  path: '/keys/new',
  title: 'New API key',
  show: visit => newKeyView(visit),
  async submit(visit) {
    const { site, account, origin } = visit;
    await countChange(visit);
    try {
      const key = newKeyOf(visit);
      const issued = await site.accounts.write(async tx => {
        const active = (await listKeys(tx, account.id)).filter(one => keyState(one, tx.now) === 'active');
        if (active.length >= KEYS_MAX) throw new UserError(`You have ${active.length} active keys. Revoke one first.`);
        return createKey(tx, key, site.config.keyLifetimeDays);
      }, origin);
      return issuedView(visit, issued, 'Your key is ready');
    } catch (error) {
      if (error instanceof UserError) return newKeyView(visit, error.message);
      throw error;
    }
  },
});

/** One key: what it may do, its ban, and the forms to rotate and to revoke it. */
export const keyPage = accountPage({
  path: '/keys/{keyId}',
  title: 'API key',
  async show(visit) {
    const key = await ownKey(visit);
    if (key === undefined) return undefined;
    const { site } = visit;
    return keyView(visit, key, await findActiveBan(site.accounts, key.id, nowOf(site)), nowOf(site));
  },
});

/** Replaces a key, and shows the token of the new one this once. */
export const rotateKeyPage = accountPage({
  path: '/keys/{keyId}/rotate',
  title: 'Rotate an API key',
  async submit(visit) {
    const { site, form, origin } = visit;
    const key = await ownKey(visit);
    if (key === undefined) return undefined;
    if (keyState(key, nowOf(site)) !== 'active') return { location: `/keys/${key.id}` };
    await countChange(visit);
    const overlapMs = parseDuration(form.get('overlap') ?? '') ?? DEFAULT_OVERLAP_MS;
    const maxDays = site.config.keyLifetimeDays;
    const { issued } = await rotateKeyAndDependents(keyDatabases(site, key), key.id, { overlapMs, maxDays, origin });
    return issuedView(visit, issued, 'Your new key is ready');
  },
});

/** Revokes a key. */
export const revokeKeyPage = accountPage({
  path: '/keys/{keyId}/revoke',
  title: 'Revoke an API key',
  async submit(visit) {
    const key = await ownKey(visit);
    if (key === undefined) return undefined;
    const keepWebhooks = visit.form.get('keepWebhooks') === 'yes';
    await revokeKeyAndDependents(keyDatabases(visit.site, key), key.id, { keepWebhooks, origin: visit.origin });
    return { location: `/keys?revoked=${key.id}` };
  },
});

const DEFAULT_OVERLAP_MS = parseDuration('24h')!;

/** Returns the key that the path names; `undefined` if the account has no such key. */
async function ownKey({ site, account, parameters }: AccountVisit): Promise<Key | undefined> {
  const key = await findKey(site.accounts, parameters['keyId']!);
  return key?.accountId === account.id ? key : undefined;
}

/** @throws {Problem} when the account creates keys too often */
async function countChange({ site, account }: AccountVisit): Promise<void> {
  const waitMs = await site.accounts.write(tx => countAttempt(tx, attemptLimits.newKeys, String(account.id)));
  if (waitMs > 0) throw tooManyAttempts(waitMs);
}

/** Returns the key that the form describes. @throws {UserError} with a sentence that says what is valid */
function newKeyOf({ site, account, form }: AccountVisit): NewKey {
  const deployment: DeploymentName = form.get('deployment') === 'production' ? 'production' : 'staging';
  if (!site.deployments.has(deployment)) throw new UserError(`There is no ${deployment} here.`);
  const name = form.get('name')?.trim() ?? '';
  if (name === '') throw new UserError('Give the key a name, so that you recognize it later.');
  const networks = (form.get('networks') ?? '').split(/[\s,]+/).filter(Boolean);
  const lifetimeMs = parseDuration(form.get('expires') ?? '');
  const budget = budgetOf(limitIn(form, 'perMinute'), limitIn(form, 'perDay'));
  return {
    accountId: account.id,
    ...{ deployment, name, scopes: scopesOf(form) },
    ...(networks.length > 0 && { networks }),
    ...(budget !== undefined && { budget }),
    ...(lifetimeMs !== undefined && { expiresAt: nowOf(site) + lifetimeMs }),
  };
}

/** Returns a limit of the form; `null` if it is empty. Text that is no number is refused with the budget. */
function limitIn(form: URLSearchParams, name: string): number | null {
  const text = form.get(name)?.trim() ?? '';
  return text === '' ? null : Number(text);
}

/** @throws {UserError} when the form chooses single scopes, but none of them */
function scopesOf(form: URLSearchParams): string[] {
  const access = form.get('access');
  if (access === 'read') return Object.keys(scopes).filter(scope => scope.endsWith(':read'));
  if (access !== 'chosen') return [EVERY_SCOPE];
  const chosen = form.getAll('scope');
  if (chosen.length === 0) throw new UserError('Choose at least one scope.');
  return chosen;
}
