// The result of “Try it”: the request and its response.
import { addCopyButton } from './site.js';

/** @param curl the request as a command; absent while the page creates the resources that it needs */
export function showRequest(result, curl) {
  const steps = (curl && result.querySelector('.steps')) ?? element('ul', 'steps');
  const request = curl === undefined ? [] : [heading('Request'), code(curl)];
  result.replaceChildren(
    steps,
    ...request,
    element('p', 'quiet', curl === undefined ? 'Getting ready …' : 'Sending …'),
  );
}

/** Shows an earlier request that created a resource for this one. */
export function showStep(result, request, status, made) {
  const item = element('li', '');
  item.append(element('code', '', request), element('span', 'status ok', status), element('span', 'quiet', made));
  result.querySelector('.steps').append(item);
}

/** @param milliseconds the time from sending the request to the end of its response */
export function showResponse(result, response, text, milliseconds) {
  const { status, statusText, headers } = response;
  const line = element('p', 'response');
  line.append(
    element('span', response.ok ? 'status ok' : 'status', `${status} ${statusText}`.trim()),
    element('span', 'quiet', ` in ${Math.round(milliseconds)} ms`),
  );
  const parts = [heading('Response'), line];
  const [limit, left] = ['x-ratelimit-limit', 'x-ratelimit-remaining'].map(name => headers.get(name));
  if (left !== null) parts.push(element('p', 'left', `${left} of ${limit} requests left.`));
  parts.push(text === '' ? element('p', 'quiet', 'Without a body.') : code(pretty(text)), headerTable(headers));
  finish(result, parts);
}

/** Explains why there is no response. */
export function showFailure(result, error, milliseconds) {
  const isNetwork = error instanceof TypeError;
  const reason = isNetwork
    ? `There was no response after ${Math.round(milliseconds)} ms. Staging cannot be reached from this browser: it may be down, a firewall or an extension may block it, or your network is offline. Run the curl command to see more.`
    : error.message;
  const notice = element('p', 'notice alert', reason);
  finish(result, [notice]);
}

function finish(result, parts) {
  result.lastElementChild.replaceWith(...parts);
  result.scrollIntoView({ block: 'nearest' });
}

function headerTable(headers) {
  const details = element('details', 'shape');
  details.append(element('summary', '', 'Response headers'));
  const list = element('dl', 'headers');
  for (const [name, value] of headers) {
    const isLimit = /ratelimit|retry-after/.test(name);
    list.append(element('dt', isLimit ? 'limit' : '', name), element('dd', '', value));
  }
  details.append(list);
  details.open = true;
  return details;
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function code(text) {
  const block = element('pre', 'copy');
  block.append(element('code', '', text));
  return addCopyButton(block);
}

function heading(text) {
  return element('h3', '', text);
}

function element(name, className, text = '') {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}
