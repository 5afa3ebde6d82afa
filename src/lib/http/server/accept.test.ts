import assert from 'node:assert/strict';
import { it } from 'node:test';
import { prefersHtml, wantsProblemJson } from './accept.ts';

it('prefers HTML if its quality is higher', () => {
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
  for (const accept of [browser, 'text/html', 'TEXT/HTML', 'text/*', 'application/json;q=0.5, text/html;q=0.6']) {
    assert.ok(prefersHtml(accept), accept);
  }
  const others = [
    undefined,
    '',
    '*/*',
    'application/json',
    'application/json, text/html;q=0.1',
    'text/html;q=0',
    'html',
  ];
  for (const accept of others) assert.equal(prefersHtml(accept), false, `${accept}`);
});

it('requires problem+json to be named, with a quality above 0', () => {
  for (const accept of ['application/problem+json', 'text/html, Application/Problem+JSON;q=0.2']) {
    assert.ok(wantsProblemJson(accept), accept);
  }
  for (const accept of [
    undefined,
    '*/*',
    'application/*',
    'application/problem+json;q=0',
    'application/problem+json;q=0.0',
  ]) {
    assert.equal(wantsProblemJson(accept), false, `${accept}`);
  }
});
