import { SCAN_LIMIT } from '../../lib/http/pagination/paginate.ts';
import { documentedRule, idSchema, requestTimeSchema } from '../../lib/schemas.ts';
import { countText } from '../../lib/text.ts';
import { DAY_MS, durationIn, parseTime } from '../../lib/time.ts';
import { Type } from '../../lib/type.ts';
import { EventTypes } from '../../model/public-event.ts';
import { Refusals, refusalOf } from '../../model/refusal.ts';
import { settingTree } from '../../model/settings.ts';
import { listOperation } from '../deployment.ts';
import { AuditEntries, entryOf } from './entry.ts';
import { listExamples, refusalExamples } from './examples.ts';
import { listAuditEntries } from './list.ts';
import { WRITE_EVERY_MS } from './refusal-counter.ts';
import { listRefusals } from './refusals.ts';

const text = (maxLength: number, description: string, example: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength, description, examples: [example] }));

export const list = listOperation({
  summary: 'List the audit log',
  description:
    'Returns the changes that were made with the keys of your account, newest first, each with the key, the request id and ' +
    'the address of its request; also the changes that the operator made for your account or to its resources. Admins get ' +
    'the changes of all accounts. Automatic changes, such as an expiry, have no entry. Changes of accounts, keys and bans ' +
    `are on production only. Entries are kept for ${durationIn('year', Number(settingTree.auditDays.default) * DAY_MS, 'article')}.`,
  limits: `A page scans up to ${countText(SCAN_LIMIT)} events of all accounts, so it can be short or empty and still have a next page.`,
  noun: 'entries',
  filters: {
    types: Type.Optional(
      Type.Array(EventTypes.items, {
        maxItems: 50,
        description: 'Only changes of these event types. `pet.*` selects all types of one kind.',
      }),
    ),
    resource: Type.Optional(
      Type.String({
        ...documentedRule({ maxLength: 27 }),
        pattern: '^((pet|category|hold|order|account|webhook):|message:msg_)[1-9]\\d{0,14}$',
        description: 'Only changes of this resource: its kind and id.',
        examples: ['pet:7', 'order:12'],
      }),
    ),
    keyId: text(64, 'Only changes that were made with this API key.', 'q7Zc1Lw0aPdT'),
    requestId: text(128, 'Only changes of the request with this `X-Request-Id`.', 'c9l5z4GqHAJE-4'),
    address: text(64, 'Only changes that were requested from this IP address.', '192.0.2.1'),
    since: Type.Optional(requestTimeSchema('Only changes at this time or later.', '2026-11-21T00:00:00Z')),
    until: Type.Optional(requestTimeSchema('Only changes before this time.', '2026-11-22T00:00:00Z')),
    accountId: Type.Optional(
      Type.Integer({ ...idSchema('For admins: only the entries of this account.'), examples: [1] }),
    ),
  },
  schema: AuditEntries,
  examples: listExamples,
  async handle({ context, caller, filters, page }) {
    const { since, until } = filters;
    const filter = { ...filters, since: timeOf(since), until: timeOf(until) };
    const { rows, ...links } = await listAuditEntries(context.database, caller, filter, page);
    return { rows: rows.map(entryOf), ...links };
  },
});

export const listRefused = listOperation({
  summary: 'List refused requests',
  description:
    'Returns the requests that were refused although their key exists, with one entry for each key, UTC day and error code, ' +
    'newest first: a wrong secret, an expired or revoked key, a suspended account, a missing scope, a resource of another ' +
    `account. Counts are up to ${durationIn('minute', WRITE_EVERY_MS, 'article')} behind. Admins get the refused requests of all accounts. Each deployment lists the keys of both deployments.`,
  noun: 'refusals',
  filters: {
    keyId: text(64, 'Only requests with this API key.', 'q7Zc1Lw0aPdT'),
    code: text(64, 'Only requests that were refused with this error code.', 'insufficient_scope'),
  },
  schema: Refusals,
  examples: refusalExamples,
  async handle({ context, caller, filters, page }) {
    const { rows, ...links } = await listRefusals(context.webhooks.accounts, caller, filters, page);
    return { rows: rows.map(refusalOf), ...links };
  },
});

function timeOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Math.ceil(parseTime(text)!);
}
