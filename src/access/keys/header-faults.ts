import { findToken, TOKEN_LENGTH } from './token.ts';

const REMEDY = 'Send "Authorization: Bearer <API_KEY>".';

/**
 * Returns the error of an `Authorization` header without a bearer token; `undefined` if there is no specific error.
 * Does not repeat text that may be a secret.
 */
export function schemeFault(header: string): string | undefined {
  const [scheme = '', ...rest] = header.trim().split(/\s+/);
  if (scheme === '') return undefined;
  if (/^bearer$/i.test(scheme))
    return `There is no key after "Bearer": the variable with the key may be empty. ${REMEDY}`;
  if (/^["'`]/.test(scheme)) return `The value of the Authorization header is in quotes. ${REMEDY}`;
  if (rest.length === 0) return `The Authorization header has no scheme before the key. ${REMEDY}`;
  const shown = /^[a-z]{1,20}:?$/i.test(scheme) ? `"${scheme}"` : 'another one';
  return `The scheme of the Authorization header is ${shown}, not "Bearer". ${REMEDY}`;
}

/** Returns the error of a malformed bearer token; `undefined` if there is no specific error. */
export function tokenFault(text: string): string | undefined {
  if (findToken(text) !== undefined) {
    if (/^bearer/i.test(text)) return 'The Authorization header has "Bearer" twice. Send it once.';
    if (/^["'`]/.test(text)) return 'The API key is in quotes. Send it without them.';
    return 'There are other characters before or after the API key. Send the key alone.';
  }
  if (PLACEHOLDER.test(text)) return 'The Authorization header has a placeholder. Put your API key in its place.';
  if (!text.startsWith('petstore_')) return 'An API key begins with "petstore_live_" or "petstore_test_".';
  if (text.length === TOKEN_LENGTH) return undefined;
  return `The API key has ${text.length} characters, and a whole one has ${TOKEN_LENGTH}. Copy the whole key again.`;
}

/** Placeholders for a key in samples, and values that programs send for an unset variable. */
const PLACEHOLDER = /^(<[^>]*>|\$\{?\w*\}?|\{+\w*\}+|(your|my)?[_-]?(api)?[_-]?(key|token)|null|none|undefined)$/i;
