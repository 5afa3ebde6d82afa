// The trial key of this browser, which all pages share. It works only on staging, and expires after 15 minutes.

const NAME = 'trial-key';

/** Returns the key with the ids of the resources made with it; `undefined` if there is none or it has expired. */
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

/** Removes the key from this browser. */
export function dropTrialKey() {
  localStorage.removeItem(NAME);
}

/**
 * Returns the key, or a new one. Tabs that call it at the same time get the same key.
 * @param url the URL that creates keys
 */
export async function getTrialKey(url) {
  const get = () => readTrialKey() ?? createTrialKey(url);
  const { locks } = navigator;
  // Only secure pages have the lock manager.
  if (locks === undefined) return get();
  const key = await locks.request(NAME, { ifAvailable: true }, lock => lock && get());
  return key ?? locks.request(NAME, async () => readTrialKey() ?? (await keyOfOtherTab()) ?? createTrialKey(url));
}

/** Waits up to a second for the key of the tab that had the lock: a tab may receive it after the lock. */
function keyOfOtherTab() {
  return new Promise(resolve => {
    const read = () => resolve(readTrialKey());
    addEventListener('storage', read, { once: true });
    setTimeout(read, 1000);
  });
}

async function createTrialKey(url) {
  const response = await fetch(url, { method: 'POST', headers: { Accept: 'application/json' } });
  const key = await response.json();
  if (!response.ok) throw new Error(key.message);
  storeTrialKey({ ...key, ids: {} });
  return readTrialKey();
}

/** Ends the key, and removes it from this browser. The resources made with it are deleted. */
export async function endTrialKey(url) {
  const { token } = readTrialKey() ?? {};
  dropTrialKey();
  if (token !== undefined) await fetch(`${url}/end`, { method: 'POST', body: new URLSearchParams({ key: token }) });
}
