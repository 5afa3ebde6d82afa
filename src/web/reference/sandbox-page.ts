import { createSandboxKey } from '../../keys/sandbox.ts';
import { Problem } from '../../lib/http/problem.ts';
import { formatTime } from '../../lib/time.ts';
import { addressSubject, attemptLimits, countAttempt, tooManyAttempts } from '../../sessions/attempts.ts';
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
    const subject = addressSubject(request.address);
    const waitMs = await site.accounts.write(tx => countAttempt(tx, attemptLimits.sandboxByAddress, subject));
    if (waitMs > 0)
      throw tooManyAttempts(waitMs, `Your network has had ${attemptLimits.sandboxByAddress.max} trial keys.`);
    const key = await site.accounts.write(createSandboxKey);
    if (key === undefined) {
      throw new Problem('sandbox_full', 503, FULL, { headers: ['Retry-After', '60'] });
    }
    const body = { token: key.token, expiresAt: formatTime(key.expiresAt!) };
    return { status: 201, contentType: 'application/json; charset=utf-8', bytes: JSON.stringify(body) };
  },
});

const FULL = 'All trial keys are in use. Try again in a few minutes, or paste a key of your own.';
const NO_STAGING = 'This server has no staging deployment, so you cannot create a trial key.';
