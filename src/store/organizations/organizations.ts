import { isDeepStrictEqual } from 'node:util';
import { etagOf } from '../../lib/etag.ts';
import type { InsertRowOf } from '../../lib/fields/field.ts';
import type { CreationCheck, PreconditionCheck } from '../../lib/http/route.ts';
import { invalidMembers, problem } from '../../model/errors.ts';
import type { Actor, NewEvent } from '../../model/log/event.ts';
import { record } from '../../model/log/log.ts';
import {
  foldedName,
  type NewOrganization,
  type Organization,
  type OrganizationPatch,
  type OrganizationRow,
  type OrganizationState,
  organizationColumns,
  type organizationFields,
  organizationOf,
  organizationValues,
} from '../../model/organization.ts';
import { type Params, query, type Reader, selectJsonNumbers, sql, type Transaction } from '../../model/schema.ts';
import { releasePhotos } from '../photo-references.ts';

/** The data of events of organizations. */
export interface OrganizationEventData {
  /** The organization after the change, or before its deletion, without its long texts. */
  readonly organization: OrganizationState;
  /** The previous values of the changed recorded fields. */
  readonly was?: Readonly<Record<string, unknown>>;
  /** The id of its account. */
  readonly ownerId: number;
}

/** Returns the organization of an account, even if it is hidden; `undefined` if the account has none. */
export async function findOrganization(reader: Reader, id: number): Promise<OrganizationRow | undefined> {
  return reader.first(organizationById, { id });
}

/** Returns the organizations with these ids by id, without hidden ones. */
export async function publicOrganizations(
  reader: Reader,
  ids: readonly number[],
): Promise<ReadonlyMap<number, OrganizationRow>> {
  if (ids.length === 0) return new Map();
  const rows = await reader.all(organizationsByIds, { ids: JSON.stringify([...new Set(ids)]) });
  return new Map(rows.map(row => [row.id, row]));
}

/**
 * Returns the public view of an account's organization; `undefined` if it does not exist or is hidden. URLs of photos
 * are paths.
 */
export async function findPublicOrganization(reader: Reader, id: number): Promise<Organization | undefined> {
  const row = await findOrganization(reader, id);
  return row === undefined || row.hidden === 1 ? undefined : organizationOf(row, '');
}

/**
 * Returns the organization with this id. Only admins see an organization whose account is suspended.
 * @throws {Problem} `organization_not_found`
 */
export async function getOrganization(
  reader: Reader,
  { admin }: Pick<Actor, 'admin'>,
  id: number,
): Promise<OrganizationRow> {
  const organization = await findOrganization(reader, id);
  if (organization === undefined || (organization.hidden === 1 && !admin)) throw notFound(id);
  return organization;
}

/**
 * Publishes the organization of an account, or replaces all its fields that callers write, and records
 * `organization.created` or `organization.updated`. A replacement with the same values changes nothing.
 * @throws {Problem} `not_owner`; `organization_not_found` if an admin would publish that of another account; also any
 *   error of `checkPreconditions`
 */
export async function replaceOrganization(
  tx: Transaction,
  actor: Actor,
  id: number,
  body: NewOrganization,
  checkPreconditions?: CreationCheck,
): Promise<{ readonly organization: OrganizationRow; readonly isNew: boolean }> {
  requireOwn(actor, id);
  const written = organizationValues.toRow(body);
  const before = await lock(tx, id);
  if (before !== undefined) {
    checkPreconditions?.(etagOf(before));
    return { organization: await changeOrganization(tx, actor, before, written), isNew: false };
  }
  if (actor.accountId !== id) throw notFound(id);
  checkPreconditions?.(undefined);
  const row = { ...written, id, nameKey: foldedName(body.name), photos: null, createdAt: tx.now, updatedAt: tx.now };
  const inserted = await tx.first(insertOrganization, row);
  // Another request of the account has published it meanwhile.
  if (inserted === undefined) return replaceOrganization(tx, actor, id, body, checkPreconditions);
  await record(tx, organizationEvent('created', actor, inserted));
  return { organization: inserted, isNew: true };
}

/**
 * Applies a merge patch (RFC 7396) to an organization and records `organization.updated`. A patch without differences
 * changes nothing.
 * @throws {Problem} `organization_not_found`; `not_owner`; `invalid_body` if an address or a location would lack a
 *   member; also any error of `checkPreconditions`
 */
export async function updateOrganization(
  tx: Transaction,
  actor: Actor,
  id: number,
  patch: OrganizationPatch,
  checkPreconditions?: PreconditionCheck,
): Promise<OrganizationRow> {
  const before = await lockOwnOrganization(tx, actor, id, checkPreconditions);
  return changeOrganization(tx, actor, before, organizationValues.merge(before, patch, invalidMembers));
}

/**
 * Deletes an organization with its photos and records `organization.deleted`. Its account can publish it again, with
 * later versions.
 * @throws {Problem} `organization_not_found`; `not_owner`; also any error of `checkPreconditions`
 */
export async function deleteOrganization(
  tx: Transaction,
  actor: Actor,
  id: number,
  checkPreconditions?: PreconditionCheck,
): Promise<void> {
  const organization = await lockOwnOrganization(tx, actor, id, checkPreconditions);
  await tx.run(removeOrganization, { id });
  await releasePhotos(tx, [{ accountId: id, photos: organization.photos }]);
  await record(tx, organizationEvent('deleted', actor, organization));
}

/**
 * Locks an organization of the actor until the transaction ends.
 * @throws {Problem} `organization_not_found`; `not_owner`; also any error of `checkPreconditions`
 */
export async function lockOwnOrganization(
  tx: Transaction,
  actor: Actor,
  id: number,
  checkPreconditions: PreconditionCheck | undefined,
): Promise<OrganizationRow> {
  const organization = await lock(tx, id);
  if (organization === undefined) throw notFound(id);
  requireOwn(actor, id);
  checkPreconditions?.(etagOf(organization));
  return organization;
}

async function lock(tx: Transaction, id: number): Promise<OrganizationRow | undefined> {
  const organization = await tx.first(lockedOrganization, { id });
  if (organization !== undefined) tx.refreshNow(organization.updatedAt);
  return organization;
}

/** Changes columns of a locked organization, and records `organization.updated` unless they are equal. */
export async function changeOrganization(
  tx: Transaction,
  actor: Actor,
  before: OrganizationRow,
  written: Partial<OrganizationRow>,
): Promise<OrganizationRow> {
  const changed = { ...before, ...written };
  if (isDeepStrictEqual(changed, before)) return before;
  const nameKey = foldedName(changed.name);
  const after: OrganizationRow = { ...changed, nameKey, version: before.version + 1, updatedAt: tx.now };
  await tx.run(updateColumns, after);
  await record(tx, organizationEvent('updated', actor, after, organizationValues.changesOf(before, after) ?? {}));
  return after;
}

function organizationEvent(
  action: 'created' | 'updated' | 'deleted',
  { accountId }: Actor,
  organization: OrganizationRow,
  was?: OrganizationEventData['was'],
): NewEvent {
  const { id } = organization;
  const data: OrganizationEventData = {
    organization: organizationValues.stateOf(organization),
    ...(was !== undefined && { was }),
    ownerId: id,
  };
  return { kind: 'organization', action, subjectId: id, accountId, data };
}

function requireOwn({ admin, accountId }: Actor, id: number): void {
  if (admin || accountId === id) return;
  throw problem('not_owner', `An organization has the id of its account: yours is ${accountId}.`);
}

function notFound(id: number) {
  return problem('organization_not_found', `There is no organization ${id}.`);
}

const selectOrganization = ({ lock }: { readonly lock: boolean }) =>
  query((db, p: Params<{ id: number }>, engine) =>
    db
      .selectFrom('organizations')
      .select(organizationColumns.full())
      .where('id', '=', p.id)
      .$if(lock && engine === 'postgres', rows => rows.forUpdate()),
  );

const organizationById = selectOrganization({ lock: false });
const lockedOrganization = selectOrganization({ lock: true });

const organizationsByIds = query((db, p: Params<{ ids: string }>, engine) =>
  db
    .selectFrom('organizations')
    .select(organizationColumns.full())
    .where('id', 'in', selectJsonNumbers(p.ids, engine))
    .where('hidden', '=', 0),
);

/**
 * Inserts no row if the account already has one. Versions continue after those of a deleted organization, because every
 * version has an event.
 */
const insertOrganization = query((db, p: Params<InsertRowOf<typeof organizationFields>>) =>
  db
    .insertInto('organizations')
    .values({
      ...organizationColumns.inserted(p),
      version: sql<number>`(select count(*) + 1 from events where kind = 'organization' and subject_id = ${p.id})`,
    })
    .onConflict(conflict => conflict.doNothing())
    .returning(organizationColumns.full()),
);

const updateColumns = query((db, p: Params<OrganizationRow>) =>
  db.updateTable('organizations').set(organizationColumns.updated(p)).where('id', '=', p.id),
);

const removeOrganization = query((db, p: Params<{ id: number }>) =>
  db.deleteFrom('organizations').where('id', '=', p.id),
);
