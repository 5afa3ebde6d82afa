import type { IssuedKey } from '../../src/model/key.ts';
import { type Reply, type SendOptions, send, type Urls } from './serving.ts';

/** Returns the URL of the Petfinder view beside an API. */
export function petfinderUrl(url: string): string {
  return url.replace(/\/v1$/, '/petfinder/v2');
}

/** Asks for an access token as most clients do. */
export function askForToken(url: string, { id, token }: Pick<IssuedKey, 'id' | 'token'>): Promise<Reply> {
  const body = { grant_type: 'client_credentials', client_id: id, client_secret: token };
  return send(`${petfinderUrl(url)}/oauth2/token`, { method: 'POST', body });
}

/** Returns functions that send requests with a key and with an access token of it. */
export async function petfinderClient(urls: Urls, key: IssuedKey) {
  const token = String((await askForToken(urls.production, key)).body.access_token);
  return {
    token,
    get: (path: string, options: SendOptions = {}) =>
      send(petfinderUrl(urls.production) + path, { key: token, ...options }),
    /** Follows a link of a response. */
    follow: ({ href }: { readonly href: string }) => send(new URL(urls.production).origin + href, { key: token }),
    async create(path: string, body: object, method = 'POST') {
      const reply = await send(urls.production + path, { method, key, body });
      if (reply.status >= 300) throw new Error(reply.text);
      return reply.body;
    },
  };
}
