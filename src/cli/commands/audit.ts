import { WRITE_EVERY_MS } from '../../access/audit/refusal-counter.ts';
import { listRefusals } from '../../access/audit/refusals.ts';
import { durationIn } from '../../lib/time.ts';
import { operator } from '../../model/log/event.ts';
import { refusalOf } from '../../model/refusal.ts';
import type { Command } from '../command.ts';
import { withAccounts } from '../databases.ts';
import { listing } from '../text.ts';
import { parseId, parseInteger } from '../values.ts';

/** The maximum number of entries that the command prints. */
const LIMIT_MAX = 20_000;

export const auditRefusals: Command = {
  name: 'audit refusals',
  summary:
    'List the requests that were refused although their key exists: by key, UTC day and error code, newest first.',
  details: `Counts are up to ${durationIn('minute', WRITE_EVERY_MS, 'article')} behind.`,
  options: {
    account: { description: 'Only the keys of this account; see `petstore account list`.', value: 'ID' },
    key: { description: 'Only this key; see `petstore key list`.', value: 'ID' },
    limit: { description: `The maximum number of lines to print, 1 to ${LIMIT_MAX}.`, value: 'N', default: '20' },
  },
  examples: {
    'petstore audit refusals': 'keys that are misused or lack a scope',
    'petstore audit refusals --key q7Zc1Lw0aPdT --json': 'one key, for a program',
  },
  async run(invocation) {
    const { account, key: keyId, limit: text } = invocation.options;
    const actor = account === undefined ? operator : { accountId: parseId('--account', account), admin: false };
    const limit = parseInteger('--limit', text!, 1, LIMIT_MAX);
    const { rows } = await withAccounts(invocation, accounts => listRefusals(accounts, actor, { keyId }, { limit }));
    const value = rows.map(refusalOf);
    const columns = ['keyId', 'accountId', 'day', 'code', 'requests', 'lastAt', 'lastAddress'];
    return { value, text: style => listing(style, value, columns, 'No request with a known key was refused.') };
  },
};
