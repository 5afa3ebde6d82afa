import type { Ban } from '../../src/access/limits/bans.ts';
import { type Params, query } from '../../src/model/schema.ts';

/** Bans a key; not with an event and a notification, as the limiter does. */
export const insertBan = query((db, p: Params<Pick<Ban, 'keyId' | 'step' | 'bannedAt' | 'until'>>) =>
  db.insertInto('bans').values({ key_id: p.keyId, step: p.step, banned_at: p.bannedAt, until: p.until }),
);
