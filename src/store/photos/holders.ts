import type { PreconditionCheck } from '../../lib/http/route.ts';
import type { Actor } from '../../model/log/event.ts';
import type { OrganizationRow } from '../../model/organization.ts';
import type { PetRow } from '../../model/pet.ts';
import type { Reader, Transaction } from '../../model/schema.ts';
import { changeOrganization, getOrganization, lockOwnOrganization } from '../organizations/organizations.ts';
import { changePet } from '../pets/change.ts';
import { getPet, lockOwnPet } from '../pets/pets.ts';

/** The columns of every kind of holder. */
export interface HolderRow {
  readonly id: number;
  readonly version: number;
  /** A list of `StoredPhoto` as JSON. */
  readonly photos: string | null;
}

/** A kind of holder: pets, or organizations. */
export interface PhotoHolders<Row extends HolderRow = HolderRow> {
  /** The noun in messages. */
  readonly noun: string;
  /** Returns the account that owns a holder. */
  ownerOf(row: Row): number;
  /**
   * Returns a holder.
   * @throws {Problem} if there is none with this id that the actor can read
   */
  get(reader: Reader, actor: Pick<Actor, 'admin'>, id: number, now: number): Promise<Row>;
  /**
   * Locks a holder of the actor until the transaction ends.
   * @throws {Problem} like `get`; `not_owner`; any error of `checkPreconditions`
   */
  lock(tx: Transaction, actor: Actor, id: number, checkPreconditions: PreconditionCheck | undefined): Promise<Row>;
  /** Stores the photos of a locked holder, with the event of the change. */
  change(tx: Transaction, actor: Actor, row: Row, photos: string | null): Promise<Row>;
}

export const petPhotos: PhotoHolders<PetRow> = {
  noun: 'animal',
  ownerOf: ({ accountId }) => accountId,
  get: (reader, _, id, now) => getPet(reader, id, now),
  lock: lockOwnPet,
  // A locked pet also has the columns of reservations.
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
