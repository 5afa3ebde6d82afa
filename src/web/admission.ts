import type { SignedIn } from '../access/sessions/session.ts';
import { Problem } from '../lib/http/problem.ts';
import type { WebPageRequest } from '../lib/http/server/pages.ts';
import { allows, type Permission, roles } from '../model/roles.ts';
import type { AccountVisit, PageResult, Visit, WebPage } from './page.ts';
import { isLocalhost } from './same-site.ts';

/**
 * Returns the response for visitors who may not open the page, or send its form; `undefined` for others.
 * @throws {Problem} for a page of operators, a role that does not allow it, and a suspended account
 */
export function refusalOf(
  page: WebPage,
  { path, search }: WebPageRequest,
  signedIn: SignedIn | undefined,
  kind: 'show' | 'submit',
): PageResult | undefined {
  if (page.access === 'everyone') return undefined;
  const next = page.show === undefined ? '' : `?next=${encodeURIComponent(path + search)}`;
  if (signedIn === undefined) return { location: `/sign-in${next}` };
  const { account, role } = signedIn;
  if (page.access === 'admin' && !account.admin) {
    throw new Problem('not_admin', 403, 'This page is for the operators of the store.');
  }
  const permission = (kind === 'show' ? page.shownFor : undefined) ?? page.permission;
  if (permission !== undefined && !allows(role, permission)) {
    const message = `Your role in ${account.name}, ${roles[role].title.toLowerCase()}, does not allow this. An owner can change your role.`;
    throw new Problem('role_not_allowed', 403, message);
  }
  if (account.suspendedAt !== undefined && !page.whileSuspended) {
    throw new Problem('account_suspended', 403, 'This account is suspended. Your account page says what you can do.');
  }
  if (signedIn.lacksFactor && !page.withoutFactor) return { location: '/security?done=required' };
  return undefined;
}

/** Reports whether the role of a member allows to open a page, but not to send its form. */
export function isReadOnly({ permission }: WebPage, signedIn: SignedIn | undefined): boolean {
  return signedIn !== undefined && permission !== undefined && !allows(signedIn.role, permission);
}

/** Returns a visit, with the account and the rights of the signed-in person. */
export function accountVisitOf(visit: Omit<Visit, 'parameters' | 'query' | 'canSignIn'>): Visit {
  const { request, signedIn } = visit;
  const common = {
    ...visit,
    parameters: request.parameters,
    query: new URLSearchParams(request.search),
    canSignIn: request.tls || isLocalhost(request),
  };
  if (signedIn === undefined) return common;
  const { account, session, person, role } = signedIn;
  const { requestId, address } = request;
  const origin = { accountId: account.id, sessionId: session.id, personId: person.id, requestId, address };
  const own: AccountVisit = {
    ...common,
    signedIn,
    account,
    may: (permission: Permission) => allows(role, permission),
    origin,
  };
  return own;
}
