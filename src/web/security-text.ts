import { publicFile } from './page.ts';

/** How long its content is valid; RFC 9116 recommends less than a year. */
const VALID_DAYS = 180;

/**
 * The contact for reports of vulnerabilities (RFC 9116). Without a contact of the operator, messages go to the store.
 */
export const securityTextPage = publicFile({
  path: '/.well-known/security.txt',
  title: 'security.txt',
  show({ site, request: { publicUrl } }) {
    const expires = new Date(site.clock.now());
    expires.setUTCDate(expires.getUTCDate() + VALID_DAYS);
    expires.setUTCHours(0, 0, 0, 0);
    const lines = [
      `Contact: ${site.config.securityContact ?? `${publicUrl}/guides/messages`}`,
      `Expires: ${expires.toISOString().slice(0, 19)}Z`,
      'Preferred-Languages: en',
      `Canonical: ${publicUrl}/.well-known/security.txt`,
    ];
    return { contentType: 'text/plain; charset=utf-8', bytes: `${lines.join('\n')}\n`, maxAge: 3600 };
  },
});
