import { limitsOfAccount } from '../accounts/account.ts';
import { parseDuration } from '../lib/time.ts';
import { UserError, userErrorOf } from '../lib/user-error.ts';
import { findActiveBan } from '../limits/bans.ts';
import type { DeploymentName } from '../schema.ts';
import { attemptLimits, countAttempt, tooManyAttempts } from '../sessions/attempts.ts';
import { changeOnce, changeOnceAfter } from '../web/once.ts';
import { type AccountVisit, accountPage } from '../web/page.ts';
import type { Texts } from '../web/schema-form.ts';
import { keyDatabases, nowOf } from '../web/site.ts';
import { revokeKeyAndDependents, rotateKeyAndDependents } from '../webhooks/key-changes.ts';
import {
  budgetOf,
  checkBudget,
  checkKeyName,
  EVERY_SCOPE,
  type IssuedKey,
  type Key,
  keyState,
  type NewKey,
  networkText,
  scopes,
  scopeText,
} from './key.ts';
import { createKey, findKey, listKeys } from './keys.ts';
import { endedImports, issuedView, type KeyErrors, keysView, keyView, newKeyView } from './views.ts';

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

/** Creates a key, and shows its token this once: if the form is sent again, as browsers do to load the page again, the key. */
export const newKeyPage = accountPage({
  path: '/keys/new',
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
  showsSecret: true,
  title: 'Rotate an API key',
  async submit(visit) {
    const { site, form, origin } = visit;
    const key = await ownKey(visit);
    if (key === undefined) return undefined;
    if (keyState(key, nowOf(site)) !== 'active') return { location: `/keys/${key.id}` };
    await countChange(visit);
    const overlapMs = parseDuration(form.get('overlap') ?? '') ?? DEFAULT_OVERLAP_MS;
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

/** Returns the page of a key whose token was shown. */
function shownPath({ id }: IssuedKey): string {
  return `/keys/${id}?shown=yes`;
}

/** Returns the visit as one of the deployment whose database has the keys, whatever deployment has the portal. */
function accountsVisit(visit: AccountVisit): AccountVisit {
  return { ...visit, deployment: visit.site.deployments.get('production')! };
}

/** Returns the entries of the form, by which a form that is sent again is recognized. */
function textsIn({ form }: AccountVisit): Texts {
  const names = new Set(form.keys()).difference(new Set(['token']));
  return Object.fromEntries(Array.from(names, name => [name, form.getAll(name).join(' ')]));
}

/** @throws {Problem} when the account creates keys too often */
async function countChange({ site, account }: AccountVisit): Promise<void> {
  const waitMs = await site.accounts.write(tx => countAttempt(tx, attemptLimits.newKeys, String(account.id)));
  if (waitMs > 0) throw tooManyAttempts(waitMs);
}

/** Returns the key that the form describes, with what is wrong with its fields. */
function newKeyOf({ site, account, form }: AccountVisit): { key: NewKey; errors: KeyErrors } {
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
    deployment: site.deployments.has(deployment) ? undefined : `There is no ${deployment} here.`,
    scope: chosen.length === 0 ? 'Choose at least one scope.' : userErrorOf(() => scopeText(chosen)),
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

/** Returns a limit of the form; `null` if it is empty. Text that is no number is refused with the budget. */
function limitIn(form: URLSearchParams, name: string): number | null {
  const text = form.get(name)?.trim() ?? '';
  return text === '' ? null : Number(text);
}

/** Returns the scopes that the form chooses; none if it chooses single ones, but none of them. */
function scopesOf(form: URLSearchParams): string[] {
  const access = form.get('access');
  if (access === 'read') return Object.keys(scopes).filter(scope => scope.endsWith(':read'));
  if (access !== 'chosen') return [EVERY_SCOPE];
  return form.getAll('scope');
}
