/** Returns the number of decimals of a currency, by its ISO 4217 code: 2 for `EUR`, 0 for `JPY`. */
export function decimalsOf(currency: string): number {
  return decimals.getOrInsertComputed(currency, () => {
    const format = new Intl.NumberFormat('en', { style: 'currency', currency });
    return format.resolvedOptions().maximumFractionDigits ?? 2;
  });
}

/** Returns an amount in whole units, with all decimals of the currency: `125.00` for 12500 cents. */
export function majorUnits(amount: number, currency: string): string {
  const decimals = decimalsOf(currency);
  const digits = String(amount).padStart(decimals + 1, '0');
  const whole = digits.length - decimals;
  return decimals === 0 ? digits : `${digits.slice(0, whole)}.${digits.slice(whole)}`;
}

/**
 * Returns an amount in the smallest unit: 12500 cents for `125.00`. `undefined` if the text is not an amount or has too
 * many decimals.
 */
export function minorUnits(text: string, currency: string): number | undefined {
  const [, whole, fraction = ''] = /^(\d{1,12})(?:\.(\d+))?$/.exec(text) ?? [];
  const decimals = decimalsOf(currency);
  if (whole === undefined || !/^0*$/.test(fraction.slice(decimals))) return undefined;
  return Number(whole + fraction.slice(0, decimals).padEnd(decimals, '0'));
}

/** Creating a format takes longer than writing a row of an export. */
const decimals = new Map<string, number>();
