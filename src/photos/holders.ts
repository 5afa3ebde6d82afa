import type { Actor } from '../events/event.ts';
import type { PreconditionCheck } from '../lib/http/route.ts';
import type { OrganizationRow } from '../organizations/organization.ts';
import { changeOrganization, getOrganization, lockOwnOrganization } from '../organizations/organizations.ts';
import { changePet } from '../pets/change.ts';
import type { PetRow } from '../pets/pet.ts';
import { getPet, lockOwnPet } from '../pets/pets.ts';
import type { Reader, Transaction } from '../schema.ts';

/** The columns that everything with photos has. */
export interface HolderRow {
  readonly id: number;
  readonly version: number;
  /** JSON; see `StoredPhotos`. */
  readonly photos: string | null;
}

/** A kind of what has photos: pets, or organizations. */
export interface PhotoHolders<Row extends HolderRow = HolderRow> {
  /** As messages name one. */
  readonly noun: string;
  /** Returns the account that owns one. */
  ownerOf(row: Row): number;
  /** @throws {Problem} if there is none with this id that the actor can read */
  get(reader: Reader, actor: Pick<Actor, 'admin'>, id: number, now: number): Promise<Row>;
  /** Locks one of the actor until the transaction ends. @throws {Problem} likewise; `not_owner`; what `checkPreconditions` throws */
  lock(tx: Transaction, actor: Actor, id: number, checkPreconditions: PreconditionCheck | undefined): Promise<Row>;
  /** Stores the photos of one that is locked, with the event of the change. */
  change(tx: Transaction, actor: Actor, row: Row, photos: string | null): Promise<Row>;
}

export const petPhotos: PhotoHolders<PetRow> = {
  noun: 'animal',
  ownerOf: ({ accountId }) => accountId,
  get: (reader, _, id, now) => getPet(reader, id, now),
  lock: lockOwnPet,
  // A pet that was locked has the columns of reservations too.
  change: (tx, { accountId }, pet, photos) =>
    changePet(tx, pet as Parameters<typeof changePet>[1], { photos }, { accountId }),
};

export const organizationPhotos: PhotoHolders<OrganizationRow> = {
  noun: 'organization',
  ownerOf: ({ id }) => id,
  get: getOrganization,
  lock: lockOwnOrganization,
  change: (tx, actor, organization, photos) => changeOrganization(tx, actor, organization, { photos }),
};
