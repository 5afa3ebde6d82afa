import assert from 'node:assert/strict';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const TIMES = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;

/**
 * Asserts that a JSON value is the documented one, whatever the order of its members. Any time matches any other, `durationMs`
 * any number, and `…` inside a documented string any text. An array that ends with the string "…" may go on, and an object with
 * the member "…" may have others.
 */
export function assertDocumented(real: unknown, documented: unknown, path = 'response'): void {
  if (typeof documented === 'string' && typeof real === 'string') {
    if (TIME.test(documented) && TIME.test(real)) return;
    assert.match(real, pattern(documented), path);
  } else if (Array.isArray(documented) && Array.isArray(real)) {
    const shown = documented.at(-1) === '…' ? documented.slice(0, -1) : documented;
    if (shown === documented) assert.equal(real.length, documented.length, `${path}: ${JSON.stringify(real)}`);
    for (const [index, value] of shown.entries()) assertDocumented(real[index], value, `${path}[${index}]`);
  } else if (isObject(documented) && isObject(real)) {
    const { '…': more, ...shown } = documented;
    if (more === undefined)
      assert.deepEqual(Object.keys(real).sort(), Object.keys(shown).sort(), `${path}: ${JSON.stringify(real)}`);
    for (const [name, value] of Object.entries(shown)) {
      if (name === 'durationMs') assert.equal(typeof real[name], 'number', path);
      else assertDocumented(real[name], value, `${path}.${name}`);
    }
  } else assert.deepEqual(real, documented, path);
}

/**
 * Asserts that a response, as `curl -i` prints it, has the documented status line and headers. Numbers of ten digits,
 * times and `…` match any text; headers that are not documented may be there.
 */
export function assertDocumentedHead(output: string, documented: string): void {
  const [statusLine, ...headers] = documented.split('\n\n')[0]!.split('\n');
  const real = headOf(output);
  if (statusLine!.startsWith('HTTP/')) assert.equal(real[0], statusLine);
  else headers.unshift(statusLine!);
  for (const header of headers) {
    const name = header.split(':')[0]!.toLowerCase();
    const found = real.find(line => line.toLowerCase().startsWith(`${name}:`));
    assert.match(found ?? '', pattern(header, 'i'), `${header}\n${real.join('\n')}`);
  }
}

/** Returns status line and headers of the last response in what `curl -i` prints. */
export function headOf(output: string): string[] {
  const start = output.lastIndexOf('HTTP/1.1 ');
  return output.slice(start, output.indexOf('\r\n\r\n', start)).split('\r\n');
}

/** Returns the body of the last response in what curl prints, with or without `-i`. */
export function bodyOf(output: string): string {
  const start = output.lastIndexOf('\r\n\r\n');
  return start === -1 ? output : output.slice(start + 4);
}

/** Returns the pattern for a documented text: `…` is any text, and times and ten-digit numbers may differ. */
export function pattern(text: string, flags = ''): RegExp {
  const parts = text
    .replaceAll(TIMES, '…')
    .replaceAll(/\b\d{10}\b/g, '…')
    .split('…')
    .map(part => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^]*?')}$`, flags);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
