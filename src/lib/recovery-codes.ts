import { hash, randomInt } from 'node:crypto';

/** The number of recovery codes that a person gets at a time. */
export const RECOVERY_CODES = 10;

/** Crockford's base32: digits and letters without I, L and O, which look like digits, and without U. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const GROUPS = 4;
const GROUP_LENGTH = 4;
const CODE = new RegExp(`^[${ALPHABET}]{${GROUPS * GROUP_LENGTH}}$`);
/** The maximum length of what was typed. */
const TYPED_LENGTH_MAX = 100;

/** Returns new recovery codes as people see them: 80 random bits each, such as `7K2M-9XQ4-0B3D-HT6Z`. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, newRecoveryCode);
}

function newRecoveryCode(): string {
  const newGroup = () => Array.from({ length: GROUP_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return Array.from({ length: GROUPS }, newGroup).join('-');
}

/**
 * Returns the SHA-256 of a recovery code in base64, which is stored instead of the code; `undefined` if the text cannot
 * be one. 80 random bits need no slow hash.
 * @param typed in upper or lower case, with or without spaces and hyphens; O counts as 0, and I and L count as 1
 */
export function recoveryHashOf(typed: string): string | undefined {
  if (typed.length > TYPED_LENGTH_MAX) return undefined;
  const code = typed
    .toUpperCase()
    .replaceAll(/[\s\p{Dash_Punctuation}]/gu, '')
    .replaceAll('O', '0')
    .replaceAll(/[IL]/g, '1');
  return CODE.test(code) ? hash('sha256', code, 'base64') : undefined;
}
