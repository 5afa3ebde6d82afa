import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isEmail, mailtoUrl } from './email.ts';

describe('mailtoUrl', () => {
  it('writes to this address only, without a subject or a copy', () => {
    const email = 'a+b?cc=c&body=d@example.org';
    assert.ok(isEmail(email));
    const url = new URL(mailtoUrl(email));
    assert.deepEqual([url.search, decodeURIComponent(url.pathname)], ['', email]);
    assert.equal(mailtoUrl('jo@example.org'), 'mailto:jo@example.org');
  });
});
