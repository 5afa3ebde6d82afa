import { EVERY_SCOPE, type Scope, scopes } from './scopes.ts';

/** What a member of an account may do on the pages. */
export const permissions = {
  own: 'Change one’s own name, sign-in and sessions; leave the account',
  read: 'See animals, messages, holds, orders, imports and the organization',
  animals: 'Add, change, import and delete animals and photos',
  messages: 'Answer, assign and archive messages',
  orders: 'Handle holds and orders',
  organization: 'Change the public page of the organization',
  developers: 'Keys, webhooks, usage and the request log',
  account: 'Name, address, plan, data and deletion of the account',
  people: 'Invite and remove people, and change their roles',
  operate: 'Operator pages and the rights of an admin, on an admin’s account',
} as const;

export type Permission = keyof typeof permissions;

interface RoleRules {
  readonly title: string;
  readonly summary: string;
  readonly permissions: readonly Permission[];
  /** The scopes of the keys that the role can create and rotate; `all` also for scopes of later releases. */
  readonly scopes: readonly Scope[] | 'all';
}

const reading = (Object.keys(scopes) as Scope[]).filter(scope => scope.endsWith(':read'));

/** The roles of members, with everything that they allow: the only place that says so. */
export const roles = {
  owner: {
    title: 'Owner',
    summary: 'Everything, also people, the plan and the deletion of the account.',
    permissions: Object.keys(permissions) as Permission[],
    scopes: 'all',
  },
  staff: {
    title: 'Staff',
    summary: 'Animals, photos, messages, holds and orders.',
    permissions: ['own', 'read', 'animals', 'messages', 'orders'],
    scopes: [],
  },
  developer: {
    title: 'Developer',
    summary: 'Keys that read, webhooks, usage and the request log. Sees the rest.',
    permissions: ['own', 'read', 'developers'],
    scopes: [...reading, 'webhooks:write'],
  },
  viewer: {
    title: 'Viewer',
    summary: 'Sees animals, messages, holds and orders, and changes nothing.',
    permissions: ['own', 'read'],
    scopes: [],
  },
} as const satisfies Record<string, RoleRules>;

export type Role = keyof typeof roles;

export const roleNames = Object.keys(roles) as Role[];

/** Reports whether a text is the name of a role. */
export function isRole(text: string | null | undefined): text is Role {
  return text != null && Object.hasOwn(roles, text);
}

/** Reports whether a role gives a permission. */
export function allows(role: Role, permission: Permission): boolean {
  return (roles[role].permissions as readonly Permission[]).includes(permission);
}

/**
 * Returns the scopes of the widest key that a member may create. Keys of an admin's account act as an admin, so only its
 * owners create some.
 */
export function scopesFor(role: Role, account: { readonly admin: boolean }): readonly string[] {
  const own: readonly string[] | 'all' = roles[role].scopes;
  return own === 'all' ? [EVERY_SCOPE] : account.admin ? [] : own;
}

/** Reports whether someone with these scopes may create and rotate a key with others. @param wanted `*` for all */
export function includesScopes(own: readonly string[], wanted: Iterable<string>): boolean {
  return own.includes(EVERY_SCOPE) || [...wanted].every(scope => own.includes(scope));
}
