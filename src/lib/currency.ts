/** Returns the number of decimals of a currency, by its ISO 4217 code: 2 for `EUR`, 0 for `JPY`. */
export function decimalsOf(currency: string): number {
  return decimals.getOrInsertComputed(currency, () => {
    const format = new Intl.NumberFormat('en', { style: 'currency', currency });
    return format.resolvedOptions().maximumFractionDigits ?? 2;
  });
}

/** Creating a format takes longer than writing a row of an export. */
const decimals = new Map<string, number>();
