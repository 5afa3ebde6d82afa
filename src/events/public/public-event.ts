import Type from 'typebox';

/** The actions that are recorded of each kind of resource. */
export const actions = {
  pet: ['created', 'updated', 'deleted'],
  category: ['created', 'updated', 'deleted', 'merged'],
  organization: ['created', 'updated', 'deleted'],
  hold: ['created', 'extended', 'released', 'used', 'expired'],
  order: ['placed', 'approved', 'delivered', 'returned', 'cancelled', 'expired'],
  message: ['queued', 'delivered', 'failed'],
  account: [
    'created',
    'updated',
    'password_changed',
    'usage_alert',
    'suspended',
    'resumed',
    'transferred',
    'deletion_requested',
    'deleted',
  ],
  key: ['created', 'rotated', 'revoked', 'expired'],
  ban: ['imposed', 'lifted'],
  webhook: [
    'created',
    'updated',
    'activated',
    'deactivated',
    'disabled',
    'deleted',
    'secret_rotated',
    'redelivery_requested',
  ],
} as const;

type Actions = typeof actions;
type EventType = { [Kind in keyof Actions]: `${Kind}.${Actions[Kind][number]}` }[keyof Actions];

const eventTypes = Object.entries(actions).flatMap(([kind, all]) =>
  all.map(action => `${kind}.${action}` as EventType),
);

const EventFilter = Type.Enum([...Object.keys(actions).map(kind => `${kind}.*`), ...eventTypes], {
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

/** The id of an event, as a parameter. */
export const EventId = { pattern: '^evt_(0|[1-9]\\d{0,15})$', maxLength: 20, examples: ['evt_1'] } as const;

/** What led to an event, where its type does not say so. */
export interface EventCause {
  readonly reason?: string;
  readonly holdId?: number;
  readonly orderId?: number;
  readonly intoId?: number;
  readonly keyId?: string;
  readonly toAccountId?: number;
  readonly note?: string;
}

/** An event as the API shows it; `event-schemas.ts` has its schema. */
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
