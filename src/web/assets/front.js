// Runs the example of the front page against staging, with a trial key.
import { dropTrialKey, getTrialKey } from './trial-key.js';

const example = document.querySelector('.example[data-request]');
const button = example?.querySelector('button');
const [status, response, source] = ['.status', '.response code', '.source'].map(part => example?.querySelector(part));

async function run() {
  const { token } = await getTrialKey(example.dataset.url);
  const started = performance.now();
  const answer = await fetch(example.dataset.request, {
    headers: { Authorization: `Bearer ${token}` },
    cache: 'no-store',
  });
  const body = await answer.json();
  const took = Math.round(performance.now() - started);
  if (answer.status === 401) dropTrialKey();
  const limits = ['X-RateLimit-Limit', 'X-RateLimit-Remaining'].map(name => `${name}: ${answer.headers.get(name)}\n`);
  const rows = Array.isArray(body) ? body.map(row => `  ${JSON.stringify(row)}`).join(',\n') : JSON.stringify(body);
  response.textContent = `${limits.join('')}\n${Array.isArray(body) ? `[\n${rows}\n]` : rows}`;
  status.textContent = `${answer.status} ${answer.statusText}`.trim();
  source.textContent = `Staging answered just now, in ${took} ms.`;
}

async function onClick() {
  button.disabled = true;
  status.textContent = 'Running …';
  try {
    await run();
  } catch (error) {
    // fetch() rejects with a TypeError if there is no response.
    status.textContent = error instanceof TypeError ? 'No response' : 'Not now';
    source.textContent =
      error instanceof TypeError ? 'Staging cannot be reached from this browser at the moment.' : error.message;
  }
  button.disabled = false;
}

if (button !== undefined) {
  button.addEventListener('click', onClick);
  button.hidden = false;
}
