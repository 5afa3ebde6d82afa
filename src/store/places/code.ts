/** The maximum number of letters and digits of a postal code. */
export const POSTAL_CODE_LENGTH_MAX = 20;

/**
 * Returns a postal code for comparisons: in upper case, without spaces and hyphens, and without the country before the
 * digits (`LV-1010` of Latvia is `1010`). `undefined` if that is not 1 to 20 letters and digits.
 */
export function normalizePostalCode(country: string, text: string): string | undefined {
  const code = text.toUpperCase().replaceAll(/[ -]/g, '');
  const isPrefixed = code.startsWith(country) && /\d/.test(code.charAt(country.length));
  const short = isPrefixed ? code.slice(country.length) : code;
  return /^[A-Z\d]+$/.test(short) && short.length <= POSTAL_CODE_LENGTH_MAX ? short : undefined;
}
