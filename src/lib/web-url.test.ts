import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WEB_URL_PATTERN, webUrlError } from './web-url.ts';

describe('webUrlError', () => {
  it('accepts http and https', () => {
    for (const url of [
      'https://example.org',
      'HTTP://example.org:8080/a?b=c&d#e',
      'https://münchen.example/straße',
      'https://[::1]/',
      'https://example.org/@name',
    ]) {
      assert.equal(webUrlError(url), undefined, url);
      assert.match(url, new RegExp(WEB_URL_PATTERN), url);
    }
  });

  it('explains what is wrong with other text', () => {
    for (const [url, fault] of [
      ['', /begins with https/],
      ['example.org', /begins with https/],
      ['javascript:alert(1)', /begins with https/],
      ['data:text/html,x', /begins with https/],
      ['//example.org', /begins with https/],
      ['https:///example.org', /begins with https/],
      ['https://', /begins with https/],
      ['https://exa mple.org', /begins with https/],
      ['https://example.org\\@evil.example', /begins with https/],
      ['https://example.org/\u202Egro', /begins with https/],
      ['https://example.org/\u0000', /begins with https/],
      ['https://example.org/\ud800', /begins with https/],
      ['https://[bad]/', /begins with https/],
      ['https://bank.example@evil.example/', /user name/],
      ['https://:x@evil.example/', /user name/],
    ] as const) {
      assert.match(webUrlError(url) ?? '', fault, url);
    }
  });
});
