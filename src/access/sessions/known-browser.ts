import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Returns the cookie value for a browser that has signed in with the password or replaced it. Attempts of such browsers
 * count separately, so that attackers who guess passwords cannot lock out the owner. The cookie does not sign in, and
 * becomes invalid with the password.
 * @param hash the stored hash of the password, which is secret
 */
export function knownBrowserOf(hash: string): string {
  return createHmac('sha256', hash).update('known browser').digest('base64url');
}

/** Reports in constant time whether a cookie is from a browser that has signed in with this password. */
export function isKnownBrowser(cookie: string, hash: string): boolean {
  const [actual, expected] = [Buffer.from(cookie), Buffer.from(knownBrowserOf(hash))];
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}
