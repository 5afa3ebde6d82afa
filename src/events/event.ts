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

export interface NewEvent {
  readonly kind: EventKind;
  /** What happened, in the past tense: `created`, `updated`. With the kind it forms the event type, `pet.created`. */
  readonly action: string;
  readonly subjectId: number;
  /** The account that caused the event; `null` for the operator and for automatic changes, such as an expiry. */
  readonly accountId: number | null;
  /** The resource after the change and what changed, as the room of the kind defines it. */
  readonly data: object;
  /** Whether the change happens by itself and is not that of the transaction's origin, such as an expiry. */
  readonly automatic?: boolean;
}

export interface Event<Data> extends Pick<NewEvent, 'kind' | 'action' | 'subjectId' | 'accountId'> {
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
