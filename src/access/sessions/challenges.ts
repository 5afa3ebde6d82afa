import { createHmac, randomBytes } from 'node:crypto';
import { equalsInConstantTime } from '../../lib/constant-time.ts';
import { factNamed, insertFact } from '../../model/facts.ts';
import type { Database } from '../../model/schema.ts';

/** The validity of a challenge: how long a page with one may be open. */
export const CHALLENGE_MS = 15 * 60_000;

/**
 * Returns a challenge for a passkey. No row is stored for it: it is its time with an HMAC, whose key only the database
 * has. `challengeTime` recognizes it on every node; `takePasskey` accepts each once.
 * @param holder names the session, the sign-in or the kind of visitor for which it is valid
 */
export async function newChallenge(database: Database, holder: string, now: number): Promise<string> {
  return challengeAt(await keyOf(database), holder, now);
}

/** Returns the time of a challenge; `undefined` if it has expired, is for another holder, or is none. */
export async function challengeTime(
  database: Database,
  challenge: string,
  holder: string,
  now: number,
): Promise<number | undefined> {
  const bytes = Buffer.from(challenge, 'base64url');
  if (bytes.length !== CHALLENGE_BYTES) return undefined;
  const at = Number(bytes.readBigUInt64BE());
  if (!Number.isSafeInteger(at) || at + CHALLENGE_MS <= now) return undefined;
  return equalsInConstantTime(challenge, challengeAt(await keyOf(database), holder, at)) ? at : undefined;
}

const TIME_BYTES = 8;
const CHALLENGE_BYTES = TIME_BYTES + 32;

function challengeAt(key: string, holder: string, at: number): string {
  const time = Buffer.alloc(TIME_BYTES);
  time.writeBigUInt64BE(BigInt(at));
  const code = createHmac('sha256', key).update(time).update(holder).digest();
  return Buffer.concat([time, code]).toString('base64url');
}

/** Returns the key of the database, which the first challenge creates. */
async function keyOf(database: Database): Promise<string> {
  const stored = await database.first(factNamed, { name: FACT });
  if (stored !== undefined) return stored.value;
  const value = randomBytes(32).toString('base64url');
  return database.write(async tx => {
    await tx.run(insertFact, { name: FACT, value });
    return (await tx.first(factNamed, { name: FACT }))!.value;
  });
}

const FACT = 'challenge-key';
