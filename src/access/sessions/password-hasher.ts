import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { createSemaphore } from '../../lib/semaphore.ts';
import { SharedBudget } from '../../lib/shared-budget.ts';
import { problem } from '../../model/errors.ts';

/** The parameters of new hashes: argon2id, 19 MiB, two passes (OWASP Password Storage Cheat Sheet). */
const current = { memory: 19_456, passes: 2, parallelism: 1 };
const SALT_BYTES = 16;
const TAG_BYTES = 32;
/** The maximum number of waiting passwords; about three seconds of work. */
const WAITING_MAX = 20;
const BUSY = 'Too many passwords are being checked at the moment; nothing was changed. Try again in a few seconds.';

const argon2Hash = promisify(argon2) as (algorithm: 'argon2id', options: Argon2Parameters) => Promise<Buffer>;

/**
 * Hashes passwords by argon2id, one at a time: a hash takes 0.2 s on one of the four threads that also flush the
 * database. Networks take turns, and each gets no more slots of the queue than are still free. So passwords of one
 * network cannot fill the queue, and delay those of another by at most one hash.
 */
export class PasswordHasher {
  readonly #slots = createSemaphore({ perKey: 1, total: 1 });
  readonly #argon2: typeof argon2Hash;
  readonly #queue = new SharedBudget<string>({ total: WAITING_MAX });

  /** @param compute replaces argon2 in tests */
  constructor(compute = argon2Hash) {
    this.#argon2 = compute;
  }

  /**
   * Returns the hash of a password as a PHC string.
   * @param network the network of the client; see `countedAddress`
   * @throws {Problem} `overloaded` when too many passwords wait
   */
  async hash(password: string, network: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const tag = await this.#compute(password, network, salt, current);
    const { memory, passes, parallelism } = current;
    return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${encode(salt)}$${encode(tag)}`;
  }

  /**
   * Reports whether a password has this hash. Takes equally long without a hash, so that callers cannot distinguish
   * unknown accounts from wrong passwords.
   * @param network the network of the client; see `countedAddress`
   * @throws {Problem} `overloaded` when too many passwords wait
   */
  async verify(password: string, stored: string | undefined, network: string): Promise<boolean> {
    const { salt, tag, parameters } = parse(stored ?? UNKNOWN);
    const actual = await this.#compute(password, network, salt, parameters);
    return timingSafeEqual(actual, tag) && stored !== undefined;
  }

  async #compute(password: string, network: string, nonce: Buffer, parameters: typeof current): Promise<Buffer> {
    if (!this.#queue.reserve(network, 1)) throw problem('overloaded', BUSY, { headers: ['Retry-After', '3'] });
    const slot = this.#slots.acquire(network);
    try {
      await slot.ready;
      const message = Buffer.from(password.normalize('NFKC'));
      const options: Argon2Parameters = { ...parameters, message, nonce, tagLength: TAG_BYTES };
      return await this.#argon2('argon2id', options);
    } finally {
      slot.release();
      this.#queue.release(network, 1);
    }
  }
}

const UNKNOWN = `$argon2id$v=19$m=${current.memory},t=${current.passes},p=${current.parallelism}$${encode(Buffer.alloc(SALT_BYTES))}$${encode(Buffer.alloc(TAG_BYTES))}`;

function encode(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

function parse(text: string) {
  const match = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(text);
  if (match === null) throw new Error('A stored password is not an argon2id hash.');
  const [memory, passes, parallelism] = match.slice(1, 4).map(Number) as [number, number, number];
  const [salt, tag] = match.slice(4).map(part => Buffer.from(part, 'base64')) as [Buffer, Buffer];
  return { salt, tag, parameters: { memory, passes, parallelism } };
}
