import { EVERY_SCOPE, scopes, scopeText } from '../keys/key.ts';
import type { DeploymentName } from '../schema.ts';
import { asUsage, type Command, type Option, UsageError } from './command.ts';
import { withRegistry } from './databases.ts';
import { issuedText, keyValue } from './key-list.ts';
import { readWhen, WHEN } from './time-text.ts';

/** Options that `key create` and `key rotate` share. */
export const expiresOption: Option = {
  sentence: `When it expires: ${WHEN}. Never where left out.`,
  value: 'WHEN',
};

/** `petstore key create` */
export const command: Command = {
  name: 'key create',
  sentence: 'Makes an API key for an account and shows its token, this once.',
  details: `Scopes:\n${Object.entries(scopes)
    .map(([scope, opens]) => `  ${scope.padEnd(14)}  ${opens}`)
    .join('\n')}`,
  options: {
    account: { sentence: 'The account that it belongs to; see `petstore account list`.', value: 'ID', required: true },
    deployment: {
      sentence: 'The deployment that it opens.',
      value: 'DEPLOYMENT',
      choices: ['production', 'staging'],
      default: 'production',
    },
    scope: {
      sentence: `What it may do, with commas between scopes, or given several times; ${EVERY_SCOPE} is everything. Everything where left out.`,
      value: 'SCOPE',
      repeatable: true,
    },
    expires: expiresOption,
  },
  examples: [
    { line: 'petstore key create --account 1', sentence: 'for production, with every scope' },
    {
      line: 'petstore key create --account 1 --deployment staging --scope pets:read --expires 90d',
      sentence: 'only reads on staging, for 90 days',
    },
  ],
  async run({ options, config, clock, terminal }) {
    const accountId = wholeId(options.account!);
    const wanted = options.scope?.split(',').map(scope => scope.trim());
    asUsage(() => scopeText(wanted));
    const expiresAt = expiryOf(options.expires, clock.now());
    const { createKey } = await import('../keys/keys.ts');
    const key = await withRegistry({ config, clock, terminal }, database =>
      database.write(tx =>
        createKey(tx, {
          accountId,
          deployment: options.deployment as DeploymentName,
          ...(wanted !== undefined && { scopes: wanted }),
          ...(expiresAt !== undefined && { expiresAt }),
        }),
      ),
    );
    return { value: keyValue(key, clock.now()), text: style => issuedText(style, key) };
  },
};

/** The time that `--expires` means, in whole milliseconds; `undefined` where it is left out. */
export function expiryOf(text: string | undefined, now: number): number | undefined {
  return text === undefined ? undefined : readWhen('expires', text)(now);
}

function wholeId(text: string): number {
  const id = Number(text);
  if (!/^[1-9]\d{0,15}$/.test(text) || !Number.isSafeInteger(id)) {
    throw new UsageError('--account must be the number of an account, as `petstore account list` shows it.');
  }
  return id;
}
