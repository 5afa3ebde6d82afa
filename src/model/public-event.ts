import { Type } from '../lib/type.ts';
import { type ActionOf, type EventKind, nounEvents } from './nouns.ts';

type EventType = { [Kind in EventKind]: `${Kind}.${ActionOf<Kind>}` }[EventKind];

const eventTypes = Object.entries(nounEvents).flatMap(([kind, { actions }]) =>
  Object.keys(actions).map(action => `${kind}.${action}` as EventType),
);

const EventFilter = Type.Enum([...Object.keys(nounEvents).map(kind => `${kind}.*`), ...eventTypes], {
  title: 'EventFilter',
  description: 'An event type, or all types of one kind.',
});

/** Event types to select. */
export const EventTypes = Type.Array(EventFilter, {
  minItems: 1,
  maxItems: 50,
  description: 'Returns only events of these types. `pet.*` selects all types of one kind.',
  examples: [['pet.*']],
});

/** The id of an event as a parameter. */
export const EventId = { pattern: '^evt_(0|[1-9]\\d{0,15})$', maxLength: 20, examples: ['evt_1'] } as const;

/** The cause of an event, if its type does not show it. */
export interface EventCause {
  readonly reason?: string;
  readonly holdId?: number;
  readonly orderId?: number;
  readonly intoId?: number;
  readonly keyId?: string;
  readonly toAccountId?: number;
  readonly note?: string;
}

/** An event in responses; `event-schemas.ts` has its schema. */
export interface PublicEvent {
  readonly id: string;
  readonly type: EventType;
  readonly time: string;
  readonly sequence: number;
  readonly accountId?: number;
  readonly data: { readonly id: number | string; readonly [member: string]: unknown };
  readonly changes: Readonly<Record<string, { readonly from?: unknown; readonly to?: unknown }>>;
  readonly cause?: EventCause;
}

export function eventIdAt(position: number): string {
  return `evt_${position}`;
}

/** Returns the position of an event id that matches the pattern. */
export function positionOf(id: string): number {
  return Number(id.slice('evt_'.length));
}
