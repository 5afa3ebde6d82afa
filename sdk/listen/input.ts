import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type Style, UsageError } from '../../src/cli/command.ts';
import { formatSecret } from '../../src/lib/signature.ts';
import { UserError } from '../../src/lib/user-error.ts';
import type { EventFilter, Time } from '../src/index.ts';
import { readTypes } from './hidden-types.ts';

/** What the command needs from its process. */
export interface ListenIo {
  readonly environment: Readonly<Record<string, string | undefined>>;
  print(line: string): void;
  printError(line: string): void;
  /** Asks for a line that is not shown; absent if the user cannot be asked. */
  readonly readHidden?: ((question: string) => Promise<string>) | undefined;
  readonly style: Style;
  /** Ends the command. */
  readonly signal: AbortSignal;
  /** Replaces the clock of the platform, for tests. */
  readonly time?: Time;
}

/** The options of the command. */
export interface ListenSettings {
  /** The base URL of the API, without a slash at its end. */
  readonly url: string;
  readonly forwardTo: URL;
  readonly types: EventFilter[] | undefined;
  readonly since: string | undefined;
  readonly retry: boolean;
  readonly allowRemote: boolean;
}

/** Checks the options as typed. @throws {UsageError} */
export function readSettings(options: Readonly<Record<string, string>>): ListenSettings {
  const { url, types, since, retry, 'forward-to': forwardTo, 'allow-remote': allowRemote } = options;
  if (since !== undefined && !/^evt_\d{1,16}$/.test(since)) {
    throw new UsageError('--since must be the id of an event, such as evt_5.');
  }
  return {
    url: urlOf('--url', url!).href.replace(/\/+$/, ''),
    forwardTo: urlOf('--forward-to', forwardTo!),
    types: types === undefined ? undefined : readTypes(types),
    since,
    retry: retry !== undefined,
    allowRemote: allowRemote !== undefined,
  };
}

function urlOf(option: string, text: string): URL {
  const url = /^https?:\/\/[^\s\\]+$/i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw new UsageError(`${option} must be a URL that begins with http:// or https://.`);
  if (url.username || url.password) throw new UsageError(`${option} must not have a user name or a password in it.`);
  return url;
}

/** Returns the API key from the environment, a file, or the user. @throws {UserError} */
export async function apiKey({ environment, readHidden }: Pick<ListenIo, 'environment' | 'readHidden'>) {
  const { PETSTORE_API_KEY: text, PETSTORE_API_KEY_FILE: path } = environment;
  if (text && path) throw new UserError('PETSTORE_API_KEY and PETSTORE_API_KEY_FILE are both set; remove one of them.');
  const key = (text || (path ? await contentOf(path) : await readHidden?.('API key (not shown): ')))?.trim();
  if (!key) {
    throw new UserError('An API key is needed. Set PETSTORE_API_KEY, or name its file with PETSTORE_API_KEY_FILE.');
  }
  if (/^petstore_(live|test)_\w+$/.test(key)) return key;
  throw new UserError('The API key must begin with petstore_live_ or petstore_test_, and have letters and digits.');
}

async function contentOf(path: string): Promise<string> {
  return await readFile(path, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw new UserError(`PETSTORE_API_KEY_FILE names ${path}, which cannot be read (${code}).`);
  });
}

const SECRET_BYTES = 32;

/** Returns the secret that signs posts: a new one, or `PETSTORE_WEBHOOK_SECRET`. @throws {UserError} */
export function signingSecret({ PETSTORE_WEBHOOK_SECRET: given }: ListenIo['environment']) {
  const isNew = !given;
  const text = given || formatSecret(randomBytes(SECRET_BYTES));
  const bytes = Buffer.from(text.replace(/^whsec_/, ''), 'base64');
  // Standard Webhooks: 24 to 64 bytes.
  if (bytes.length >= 24 && bytes.length <= 64 && formatSecret(bytes) === text) return { text, bytes, isNew };
  throw new UserError('PETSTORE_WEBHOOK_SECRET must be whsec_ and 24 to 64 bytes in base64.');
}
