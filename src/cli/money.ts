import type { Price } from '../model/pet.ts';

/** Returns a price as text: `125.00 EUR` for 12,500 of the smallest unit. */
export function priceText({ amount, currency }: Price): string {
  const digits = digitsOf(currency);
  const text = String(amount).padStart(digits + 1, '0');
  const whole = text.length - digits;
  return `${text.slice(0, whole)}${digits === 0 ? '' : `.${text.slice(whole)}`} ${currency}`;
}

/** Parses a price such as `125 EUR` or `1500JPY`. Returns `undefined` for other texts, and for too many decimals. */
export function parsePrice(text: string): Price | undefined {
  const match = /^(\d{1,16})(?:\.(\d{1,4}))? ?([A-Z]{3})$/.exec(text.trim());
  if (match === null) return undefined;
  const [, whole, fraction = '', currency] = match;
  const digits = digitsOf(currency!);
  if (fraction.length > digits) return undefined;
  const amount = Number(whole + fraction.padEnd(digits, '0'));
  return Number.isSafeInteger(amount) ? { amount, currency: currency! } : undefined;
}

/**
 * Returns the number of decimals of a currency (ISO 4217 minor units; those of `Intl` are for everyday use and differ).
 */
function digitsOf(currency: string): number {
  return unusualDigits[currency] ?? 2;
}

const unusualDigits: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' ').map(code => [code, 0]),
  ),
  ...Object.fromEntries('BHD IQD JOD KWD LYD OMR TND'.split(' ').map(code => [code, 3])),
  CLF: 4,
  UYW: 4,
};
