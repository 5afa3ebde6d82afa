import { createHash, randomUUID } from 'node:crypto';
import { withIdempotency, withIdempotencyAfter } from '../access/idempotency/idempotency.ts';
import type { Html } from '../lib/html/html.ts';
import type { RouteResponse } from '../lib/http/route.ts';
import type { Transaction } from '../model/schema.ts';
import { hidden } from './forms.ts';
import type { AccountVisit, Visit } from './page.ts';
import type { Texts } from './schema-form.ts';

const KEY = 'form-key';

/** Returns the hidden field that identifies a form, so that `changeOnce` recognizes a repetition. */
export function onceField({ form }: Pick<Visit, 'form'>): Html {
  return hidden(KEY, form.get(KEY) ?? randomUUID());
}

/** The result of a form. */
interface Outcome {
  /** Whether the form was sent before, so that it changed nothing this time. */
  readonly isRepeated: boolean;
  /** The return value of the change when the form was sent for the first time. */
  readonly location: string | undefined;
}

/** The parts of a visit that are recorded with the change of a form. */
type FormVisit = Pick<AccountVisit, 'deployment' | 'account' | 'origin' | 'form'>;

/**
 * Runs the change of a form in a transaction. If the same form is sent again with the same texts within a day, for
 * example by a double click or when its page is loaded again, it changes nothing.
 * @param name the name of the form
 * @param change may return the path of the page of the created resource
 * @throws {Problem} like `withIdempotency`
 */
export async function changeOnce(
  visit: FormVisit,
  name: string,
  texts: Texts,
  change: (tx: Transaction) => Promise<string | undefined>,
): Promise<Outcome> {
  return outcomeOf(await withIdempotency(requestOf(visit, name, texts), async tx => at(await change(tx))));
}

/**
 * The same for a change with its own transactions. If the process is killed right after the change, the form can repeat
 * it.
 */
export async function changeOnceAfter(
  visit: FormVisit,
  name: string,
  texts: Texts,
  change: () => Promise<string>,
): Promise<Outcome> {
  return outcomeOf(await withIdempotencyAfter(requestOf(visit, name, texts), change, (_, location) => at(location)));
}

function requestOf({ deployment, account, origin, form }: FormVisit, name: string, texts: Texts) {
  const sent = JSON.stringify([name, form.get(KEY), texts]);
  const key = form.has(KEY) ? `form-${createHash('sha256').update(sent).digest('base64url')}` : undefined;
  return {
    ...{ context: deployment, caller: { accountId: account.id, plan: account.plan }, origin },
    ...{ operationId: name, path: {}, query: {}, body: texts },
    headers: { 'idempotency-key': key },
  };
}

function at(location: string | undefined): RouteResponse {
  return location === undefined ? {} : { headers: ['Location', location] };
}

function outcomeOf({ headers = [] }: RouteResponse): Outcome {
  const location = headers.indexOf('Location');
  return {
    isRepeated: headers.includes('Idempotency-Replayed'),
    location: location < 0 ? undefined : headers[location + 1],
  };
}
