import type { ActionOf } from '../nouns.ts';
import type { EventKind } from '../schema.ts';

/** The account or operator on whose behalf a change is made. The operator (`null`) may do everything. */
export interface Actor {
  readonly accountId: number | null;
  /** Whether the actor may change resources of other accounts. */
  readonly admin: boolean;
  /** The API key that the account acts with, if any. */
  readonly keyId?: string;
  /** The scopes of the key; every scope if absent. */
  readonly scopes?: ReadonlySet<string>;
}

/** The operator, who uses the command line. */
export const operator: Actor = { accountId: null, admin: true };

/** An event to record, with an action of its kind. */
export type NewEvent = { [Kind in EventKind]: NewEventOf<Kind> }[EventKind];

interface NewEventOf<Kind extends EventKind> {
  readonly kind: Kind;
  /**
   * The event in the past tense, such as `created` or `updated`. With the kind, it forms the event type `pet.created`.
   */
  readonly action: ActionOf<Kind>;
  readonly subjectId: number;
  /** The account that caused the event; `null` for the operator and for automatic changes, such as an expiry. */
  readonly accountId: number | null;
  /**
   * The resource after the change under the name of its kind, and members of `LoggedData`: the previous values in `was`,
   * and in `ownerId` or `ownerIds` the owners that `visibleTo` and `belongsTo` of the noun mean. An event without them is
   * not visible to these owners.
   */
  readonly data: object;
  /** Whether the change is automatic, such as an expiry, and not by the transaction's origin. */
  readonly automatic?: boolean;
}

export interface Event<Data> extends Pick<NewEvent, 'kind' | 'subjectId' | 'accountId'> {
  readonly action: string;
  /** Unique; increases with every event of one resource. */
  readonly id: number;
  /** The time of the transaction that recorded it, in milliseconds since the Unix epoch. */
  readonly at: number;
  readonly data: Data;
}

/** An event with its position in the total order of all events. */
export interface PositionedEvent<Data> extends Event<Data> {
  readonly position: number;
  /** The trace of the request that caused it, as a `traceparent` header; only `eventsAt` reads it. */
  readonly traceparent?: string | null;
}
