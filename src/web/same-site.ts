import { Problem } from '../lib/http/problem.ts';
import type { WebPageRequest } from '../lib/http/server/pages.ts';

/**
 * Requires that a page of this address sent a form, according to headers that scripts cannot change: `Sec-Fetch-Site`,
 * or `Origin` in older browsers. Programs that send neither still need the token of the form.
 * @throws {Problem} 403
 */
export function requireSameSite({ header, publicUrl }: WebPageRequest): void {
  const site = header('sec-fetch-site');
  const origin = header('origin');
  const isSame =
    site !== undefined
      ? site === 'same-origin' || site === 'none'
      : origin === undefined ||
        origin === new URL(publicUrl).origin ||
        hostOf(origin) === header('host')?.toLowerCase();
  if (!isSame)
    throw new Problem('cross_site_form', 403, 'This form was sent by another site. Open the page and send it again.');
}

/** Reports whether a request has a header with the site of its form. */
export function namesSite({ header }: Pick<WebPageRequest, 'header'>): boolean {
  return header('sec-fetch-site') !== undefined || header('origin') !== undefined;
}

/** The reason why signing in and forms do not work over plain HTTP. */
export const COOKIES_NEED_HTTPS =
  'Browsers keep the cookie of a session only over HTTPS, and on localhost. Open this page over HTTPS to sign in.';

/** Reports whether the browser runs on the server's machine, where it stores secure cookies without HTTPS. */
export function isLocalhost({ header }: Pick<WebPageRequest, 'header'>): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\]|[\w-]+\.localhost)(:\d+)?$/i.test(header('host') ?? '');
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
