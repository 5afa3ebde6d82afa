import { createSandboxKey, endSandboxKey, sandboxMax } from '../../keys/sandbox.ts';
import { Problem } from '../../lib/http/problem.ts';
import { formatTime } from '../../lib/time.ts';
import { addressSubject, tooManyAttempts } from '../../sessions/attempts.ts';
import { publicForm } from '../page.ts';

/** Creates a trial key for the visitor, as JSON. It acts for nobody, so its form needs no token. */
export const sandboxKeyPage = publicForm({
  path: '/try/key',
  title: 'Trial key',
  withoutToken: true,
  async submit({ site, request }) {
    if (site.urlOf('staging', request.tls) === undefined) {
      throw new Problem('staging_not_served', 404, NO_STAGING);
    }
    const network = addressSubject(request.address);
    const key = await site.accounts.write(tx => createSandboxKey(tx, network));
    if (key === 'perNetwork') throw tooManyAttempts(RETRY_MS, NETWORK_FULL);
    if (key === 'all') throw new Problem('sandbox_full', 503, FULL, { headers: ['Retry-After', '60'] });
    const body = { token: key.token, expiresAt: formatTime(key.expiresAt!) };
    return { status: 201, contentType: 'application/json; charset=utf-8', bytes: JSON.stringify(body) };
  },
});

/** Ends the trial key of the field `key`. Nobody but its holder knows it. */
export const endSandboxKeyPage = publicForm({
  path: '/try/key/end',
  title: 'Trial key',
  withoutToken: true,
  async submit({ site, form }) {
    await site.accounts.write(tx => endSandboxKey(tx, form.get('key') ?? ''));
    return { status: 200, contentType: 'application/json; charset=utf-8', bytes: '{}' };
  },
});

const RETRY_MS = 60_000;
const NETWORK_FULL = `Your network has ${sandboxMax.perNetwork} trial keys. Use a key of your own, or wait until one expires.`;
const FULL = 'All trial keys are in use. Try again in a few minutes, or use a key of your own.';
const NO_STAGING = 'This server has no staging deployment, so you cannot create a trial key.';
