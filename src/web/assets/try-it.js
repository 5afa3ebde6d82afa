// “Try it”: sends the request of a form to staging, with the trial key of this browser or a key that the visitor
// pastes.
import { dropTrialKey, endTrialKey, getTrialKey, readTrialKey, storeTrialKey } from './trial-key.js';
import { Resources, withValuesOfNow } from './try-it-plan.js';
import { curlOf, requestOf } from './try-it-request.js';
import { showFailure, showRequest, showResponse, showStep } from './try-it-result.js';

const panel = document.querySelector('.try[data-url]');

function start() {
  const form = panel.querySelector('form');
  const result = panel.querySelector('.result');
  const state = panel.querySelector('#try-key-state');
  const forget = panel.querySelector('[data-forget]');
  const plan = JSON.parse(panel.dataset.plan);
  const { url, sandbox } = panel.dataset;
  /** Fields whose values the page has filled in, with the resource of each. */
  const filled = new Map();
  /** The ids of the resources made with a pasted key, while the page is open. */
  let ownIds = {};
  /** The body with placeholders for ids and times, and the body that the page has filled in. */
  let template;
  let shownBody;
  let isRunning = false;

  const pastedKey = () => form.elements.key.value.trim();

  function showKey() {
    const key = sandbox === undefined ? undefined : readTrialKey();
    if (state === null) return;
    forget.hidden = key === undefined;
    const until = key && new Date(key.expiresAt).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
    state.textContent = key
      ? `You have a trial key until ${until}.`
      : 'Uses a trial key, which you get without an account.';
  }

  /** Returns the token to send, the ids that belong to it, and a function that stores them. */
  async function callerOf() {
    const own = pastedKey();
    if (own !== '') return { token: own, ids: ownIds, keep: () => {} };
    const key = await getTrialKey(url);
    showKey();
    return { token: key.token, ids: key.ids, keep: () => storeTrialKey(key) };
  }

  async function send(token, { method, url, headers, body }) {
    const all = headersOf({ Authorization: `Bearer ${token}`, ...headers });
    const response = await fetch(url, { method, headers: all, body, cache: 'no-store' });
    const text = await response.text();
    return { response, text, json: jsonOf(text) };
  }

  /** Fills in the empty fields, and the body unless the visitor has changed it. Reports whether it filled in any. */
  async function fill(ids, token) {
    const make = new Resources(
      plan,
      ids,
      request => send(token, request),
      (...step) => showStep(result, ...step),
    );
    for (const [parameter, resource] of Object.entries(plan.takes)) {
      const input = form.elements[`path.${parameter}`];
      if (input.value !== '' && !filled.has(input)) continue;
      input.value = await make.get(resource);
      filled.set(input, resource);
    }
    const { body } = form.elements;
    if (body === undefined) return filled.size > 0;
    const text = body.value === shownBody ? template : body.value;
    body.value = await make.fill(withValuesOfNow(text));
    [template, shownBody] = [text, body.value];
    return filled.size > 0 || text !== shownBody;
  }

  async function run(again = true) {
    const started = performance.now();
    showRequest(result);
    let known;
    try {
      const { token, ids, keep } = await callerOf();
      known = { ...ids };
      const isFilled = await fill(ids, token).finally(keep);
      const request = requestOf(form, panel.dataset);
      showRequest(result, curlOf(request));
      const sent = performance.now();
      const { response, text, json } = await send(token, request);
      if (again && isOutdated(response.status, isFilled, known)) return await runAnew(response.status);
      showResponse(result, response, text, performance.now() - sent);
      if (!response.ok) return;
      if (plan.ends !== undefined) delete ids[plan.ends];
      if (plan.gives !== undefined && json?.id !== undefined) ids[plan.gives] = json.id;
      keep();
    } catch (error) {
      if (again && isOutdated(error.status, true, known)) await runAnew(error.status);
      else showFailure(result, error, performance.now() - started);
    }
  }

  /**
   * Reports whether a request failed because of a key or an id that the page, not the visitor, has chosen and that no
   * longer exists.
   */
  function isOutdated(status, isFilled, known) {
    if (status === 401) return sandbox !== undefined && pastedKey() === '';
    return (status === 404 || status === 409) && isFilled && known !== undefined && Object.keys(known).length > 0;
  }

  /** Sends the request once more, with another key or without the earlier ids. */
  function runAnew(status) {
    const key = readTrialKey();
    ownIds = {};
    if (status === 401) dropTrialKey();
    else if (key !== undefined) storeTrialKey({ ...key, ids: {} });
    return run(false);
  }

  function begin() {
    const ids = sandbox === undefined ? {} : (readTrialKey()?.ids ?? {});
    for (const [parameter, resource] of Object.entries(plan.takes)) {
      const input = form.elements[`path.${parameter}`];
      if (ids[resource] === undefined) continue;
      input.value = ids[resource];
      filled.set(input, resource);
    }
    const { body } = form.elements;
    if (body !== undefined) {
      template = body.value;
      shownBody = withValuesOfNow(template);
      body.value = shownBody;
    }
    showKey();
  }

  form.elements.key.addEventListener('change', () => {
    // The filled-in ids belong to another key.
    ownIds = {};
    for (const input of filled.keys()) input.value = '';
    filled.clear();
  });
  form.addEventListener('input', ({ target }) => filled.delete(target));
  forget?.addEventListener('click', async () => {
    await endTrialKey(url).catch(() => {});
    for (const input of filled.keys()) input.value = '';
    filled.clear();
    showKey();
    state.textContent = 'The key has ended. What you made with it is deleted.';
  });
  form.addEventListener('submit', event => {
    event.preventDefault();
    if (isRunning) return;
    isRunning = true;
    run().finally(() => {
      isRunning = false;
    });
  });
  begin();
}

/** Throws an error with the reason if a value cannot be sent: fetch() would fail like without a network. */
function headersOf(values) {
  try {
    return new Headers(values);
  } catch {
    throw new Error('The key or a header has a character that cannot be sent, such as “. Copy or type it again.');
  }
}

function jsonOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

if (panel !== null) start();
