import { createHash, randomUUID } from 'node:crypto';
import { withIdempotency } from '../idempotency/idempotency.ts';
import { type Html, html } from '../lib/html/html.ts';
import type { Transaction } from '../schema.ts';
import type { AccountVisit, Visit } from './page.ts';
import type { Texts } from './schema-form.ts';

const KEY = 'form-key';

/** Returns the hidden field by which `changeOnce` recognizes a form that is sent again. */
export function onceField({ form }: Pick<Visit, 'form'>): Html {
  return html`<input type="hidden" name="${KEY}" value="${form.get(KEY) ?? randomUUID()}">`;
}

/**
 * Runs the change of a form in a transaction. If the same form is sent again with the same texts within a day, for example
 * by a double click, it changes nothing.
 * @param name the name of the form
 * @returns whether the form was sent for the first time
 * @throws {Problem} as `withIdempotency`
 */
export async function changeOnce(
  { deployment, account, origin, form }: AccountVisit,
  name: string,
  texts: Texts,
  change: (tx: Transaction) => Promise<unknown>,
): Promise<boolean> {
  const sent = JSON.stringify([name, form.get(KEY), texts]);
  const key = form.has(KEY) ? `form-${createHash('sha256').update(sent).digest('base64url')}` : undefined;
  const request = {
    ...{ context: deployment, caller: { accountId: account.id, plan: account.plan }, origin },
    ...{ operationId: name, path: {}, query: {}, body: texts },
    header: (header: string) => (header === 'idempotency-key' ? key : undefined),
  };
  const { headers = [] } = await withIdempotency(request, async tx => {
    await change(tx);
    return {};
  });
  return !headers.includes('Idempotency-Replayed');
}
