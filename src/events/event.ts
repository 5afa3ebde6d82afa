import type { EventKind } from '../schema.ts';

/** Who does a thing: an account, or the operator of the service (`null`), who may do everything. */
export interface Actor {
  readonly accountId: number | null;
  /** Whether it may change what belongs to others. */
  readonly admin: boolean;
}

/** The operator, who works on the command line. */
export const operator: Actor = { accountId: null, admin: true };

/** Something that happened, as it is written down. */
export interface NewEvent {
  readonly kind: EventKind;
  /** What happened to it, in the past tense: `created`, `updated`. With its kind it is the event's type, `pet.created`. */
  readonly action: string;
  /** The id of what it happened to. */
  readonly subjectId: number;
  /** Who did it; `null` for the operator and for what happened by itself, such as an expiry. */
  readonly accountId: number | null;
  /** What it was after the change and what changed, as the room of its kind has it. */
  readonly data: object;
}

/** Something that happened, as it is read. */
export interface Event<Data> extends Pick<NewEvent, 'kind' | 'action' | 'subjectId' | 'accountId'> {
  /** Rises with every event of one subject. */
  readonly id: number;
  /** When it was written, in milliseconds since the Unix epoch: the time of its transaction. */
  readonly at: number;
  readonly data: Data;
}
