import { after, before } from 'node:test';
import { type TestClock, testClock } from '../../src/lib/clock.ts';
import type { IssuedKey } from '../../src/model/key.ts';
import { type Reply, send, serve, type TestService } from '../support/serving.ts';

const noon = Date.parse('2026-11-20T12:00:00Z');

/** Starts the service for a suite, on a clock that stays at noon, with a key whose limits no test reaches. */
export function service() {
  let serving: TestService;
  let key: IssuedKey;
  const clock: TestClock = testClock(noon);
  before(async () => {
    serving = await serve({ clock });
    key = await serving.newKey();
  });
  after(() => serving.stop());
  return {
    use: () => ({ serving, key, clock, urls: serving.urls }),
    get: (path: string, headers = {}) => send(serving.urls.production + path, { key, headers }),
    post: (body: unknown, headers = {}) =>
      send(`${serving.urls.production}/pets`, { method: 'POST', key, body, headers }),
  };
}

/** Returns the sorted paths of the errors of a response. */
export function paths(reply: Reply): string[] {
  return (reply.body.errors ?? []).map(({ path }: { path: string }) => path).toSorted();
}

/** Returns the URLs of the `Link` headers by relation. */
export function links(reply: Reply): Record<string, string | undefined> {
  const found: Record<string, string> = {};
  for (const value of reply.all['link'] ?? []) {
    for (const [, url, rel] of value.matchAll(/<([^>]*)>; rel="([^"]*)"/g)) found[rel!] = url!;
  }
  return found;
}
