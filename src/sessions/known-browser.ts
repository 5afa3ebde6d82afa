import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Returns the value of the cookie that a browser gets when someone signs in with the password or replaces it. Attempts of
 * such browsers count on their own, so that others who guess cannot lock the owner out. It signs nobody in, and ends with
 * the password.
 * @param hash the stored hash of the password, which nobody outside knows
 */
export function knownBrowserOf(hash: string): string {
  return createHmac('sha256', hash).update('known browser').digest('base64url');
}

/** Reports in constant time whether a cookie is of a browser that has signed in with this password. */
export function isKnownBrowser(cookie: string, hash: string): boolean {
  const [actual, expected] = [Buffer.from(cookie), Buffer.from(knownBrowserOf(hash))];
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}
