import { dayOf } from '../../lib/time.ts';
import { nextStep, stepMinutes } from './bans.ts';
import { type ReservedRequests, readReserved } from './day-counts.ts';
import type { LimiterDeps } from './limiter.ts';
import type { SharedDay } from './shared-day.ts';
import type { Reply } from './shared-reply.ts';
import { countScript } from './shared-scripts.ts';
import { type Subject, valkeyName } from './subject.ts';
import type { Valkey } from './valkey.ts';

/** A request to count, for an account and perhaps a budget. */
interface SharedRequest {
  readonly keyId: string;
  readonly neverBanned: true | undefined;
  readonly subjects: readonly Subject[];
  /** The day of each subject. */
  readonly days: readonly SharedDay[];
  /** The time, in milliseconds since the Unix epoch. */
  readonly now: number;
}

/**
 * Runs the script that counts a request. The first request of a subject, and the first of a day that Valkey does not
 * know, also send the stored counts of nodes that counted without Valkey.
 */
export async function runCountScript(
  valkey: Valkey,
  deps: LimiterDeps & { readonly prefix: string },
  { keyId, neverBanned, subjects, days, now }: SharedRequest,
): Promise<Reply> {
  const ban = deps.bans.latest.get(keyId);
  const account = deps.prefix + valkeyName(subjects[0]!.name);
  const keys = [`${account} key ${keyId}`, ...days.flatMap(day => day.keys)];
  const run = (stored?: readonly StoredCounts[]) =>
    valkey.run<Reply>(countScript, keys, [
      ban?.liftedAt === null ? ban.until : 0,
      ban === undefined || ban.liftedAt === null ? 0 : ban.bannedAt,
      stepMinutes(nextStep(ban, now)),
      neverBanned ? 'never' : subjects[1]?.prefix === 'key-' ? 1 : 0,
      ...days.flatMap(({ day, counted, returned }, i) => {
        const { perMinute, perDay } = subjects[i]!.limits;
        return [finite(perMinute), finite(perDay), day, counted, returned, ...(stored?.[i] ?? [0, 0])];
      }),
    ]);
  const storedCounts = () => Promise.all(days.map(day => readStored(deps, day)));
  const reply = await run(days.every(({ loaded }) => loaded) ? undefined : await storedCounts());
  if (reply[0] !== 'unknownDay') return reply;
  const today = dayOf(reply[1] * 1000);
  for (const day of days) if (today !== day.day) day.startDay(today, true);
  return await run(await storedCounts());
}

/** The result of `readStored`. */
type StoredCounts = readonly (string | number)[];

/**
 * Returns a day, the number of its stored counts, and the node and count of each. Has no counts if they cannot be read
 * in time.
 */
async function readStored(deps: LimiterDeps, day: SharedDay): Promise<StoredCounts> {
  const date = day.day;
  let stored: readonly ReservedRequests[] = [];
  await readReserved(deps, day, rows => {
    stored = rows;
  });
  day.loaded = true;
  return [date, stored.length, ...stored.flatMap(({ node, reserved }) => [node, reserved])];
}

/** Returns a limit as a number that Lua can return as an integer. */
export function finite(limit: number): number {
  return Math.min(limit, Number.MAX_SAFE_INTEGER);
}
