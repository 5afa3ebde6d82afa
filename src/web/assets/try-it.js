// “Try it”: sends the request of a form to staging, with a trial key or one that the person pastes.
import { curlOf, requestOf } from './try-it-request.js';
import { showFailure, showRequest, showResponse } from './try-it-result.js';

const panel = document.querySelector('.try[data-url]');

/** The trial key, which the pages of a tab share. It opens staging only, and expires after 15 minutes. */
const sandbox = {
  read() {
    const { token, expiresAt } = JSON.parse(sessionStorage.getItem('sandbox-key') ?? '{}');
    return token !== undefined && Date.parse(expiresAt) > Date.now() ? { token, expiresAt } : undefined;
  },
  write: key => sessionStorage.setItem('sandbox-key', JSON.stringify(key)),
};

function start() {
  const form = panel.querySelector('form');
  const result = panel.querySelector('.result');
  const state = panel.querySelector('#try-key-state');
  const getKey = panel.querySelector('[data-get-key]');

  function showKey() {
    const key = sandbox.read();
    if (key === undefined || getKey === null) return;
    const until = new Date(key.expiresAt).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
    state.textContent = `You have a trial key until ${until}. Leave the field empty to use it.`;
  }

  async function fetchKey() {
    state.textContent = 'Getting a trial key …';
    const response = await fetch(panel.dataset.url, { method: 'POST', headers: { Accept: 'application/json' } });
    const body = await response.json();
    if (!response.ok) throw new Error(body.message);
    sandbox.write(body);
    showKey();
  }

  /** Returns the key to send: the pasted one, or the trial key, which it gets if there is none. */
  async function keyOf() {
    const pasted = form.elements.key.value.trim();
    if (pasted !== '') return pasted;
    if (getKey === null) return '';
    if (sandbox.read() === undefined) await fetchKey();
    return sandbox.read().token;
  }

  async function send() {
    const request = requestOf(form, panel.dataset);
    showRequest(result, curlOf(request));
    const started = performance.now();
    try {
      const key = await keyOf();
      const headers = key === '' ? request.headers : { Authorization: `Bearer ${key}`, ...request.headers };
      const sent = performance.now();
      const response = await fetch(request.url, { ...request, headers, cache: 'no-store' });
      const text = await response.text();
      showResponse(result, response, text, performance.now() - sent);
      remember(response, text);
    } catch (error) {
      showFailure(result, error, performance.now() - started);
      if (sandbox.read() === undefined) state.textContent = '';
    }
  }

  /** Keeps the id of what was created, so that the forms of other operations begin with it. */
  function remember(response, text) {
    if (response.status === 401 && form.elements.key.value.trim() === '') sessionStorage.removeItem('sandbox-key');
    const { creates } = panel.dataset;
    if (!response.ok || creates === undefined) return;
    const { id } = JSON.parse(text);
    if (id !== undefined) sessionStorage.setItem(`id ${creates}`, id);
  }

  for (const input of form.elements) {
    const [place, name] = (input.name ?? '').split('.');
    const known = place === 'path' ? sessionStorage.getItem(`id ${name}`) : null;
    if (known !== null) input.value = known;
  }
  showKey();
  getKey?.addEventListener('click', () => {
    fetchKey().catch(error => {
      state.textContent = error.message;
    });
  });
  form.addEventListener('submit', event => {
    event.preventDefault();
    send();
  });
}

if (panel !== null) start();
