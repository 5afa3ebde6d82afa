// The trial key of this browser, which all pages share. It opens staging only, and expires after 15 minutes.

const NAME = 'trial-key';

/** Returns the key with the ids of what was made with it; `undefined` if there is none or it has expired. */
export function readTrialKey() {
  try {
    const key = JSON.parse(localStorage.getItem(NAME) ?? '{}');
    return key.token !== undefined && Date.parse(key.expiresAt) > Date.now() ? key : undefined;
  } catch {
    return undefined;
  }
}

export function storeTrialKey(key) {
  localStorage.setItem(NAME, JSON.stringify(key));
}

/** Forgets the key in this browser. */
export function dropTrialKey() {
  localStorage.removeItem(NAME);
}

/** Returns the key, or a new one: tabs that call it at the same time get the same. @param url where keys are created */
export async function getTrialKey(url) {
  const get = () => readTrialKey() ?? createTrialKey(url);
  // Only secure pages have locks.
  return navigator.locks === undefined ? get() : navigator.locks.request(NAME, get);
}

async function createTrialKey(url) {
  const response = await fetch(url, { method: 'POST', headers: { Accept: 'application/json' } });
  const key = await response.json();
  if (!response.ok) throw new Error(key.message);
  storeTrialKey({ ...key, ids: {} });
  return readTrialKey();
}

/** Ends the key, and forgets it. What was made with it is deleted. */
export async function endTrialKey(url) {
  const { token } = readTrialKey() ?? {};
  dropTrialKey();
  if (token !== undefined) await fetch(`${url}/end`, { method: 'POST', body: new URLSearchParams({ key: token }) });
}
