/** Reports whether an `Accept` header names `application/problem+json` (RFC 9457). */
export function wantsProblemJson(accept: string | undefined): boolean {
  return accept !== undefined && parse(accept).some(({ range, q }) => range === 'application/problem+json' && q > 0);
}

/** Reports whether an `Accept` header prefers HTML to JSON, like those of browsers (RFC 9110, 12.5.1). */
export function prefersHtml(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const ranges = parse(accept);
  return qualityOf(ranges, 'text/html') > qualityOf(ranges, 'application/json');
}

interface MediaRange {
  readonly range: string;
  readonly q: number;
}

function parse(accept: string): MediaRange[] {
  return accept
    .toLowerCase()
    .split(',')
    .map(part => {
      const [range = '', ...parameters] = part.split(';').map(text => text.trim());
      const q = parameters.map(parameter => /^q=([\d.]+)$/.exec(parameter)?.[1]).find(found => found !== undefined);
      return { range, q: q === undefined ? 1 : Number(q) };
    });
}

/** Returns the quality of a type by its most specific range; 0 if no range includes it. */
function qualityOf(ranges: readonly MediaRange[], type: string): number {
  for (const range of [type, `${type.split('/')[0]}/*`, '*/*']) {
    const found = ranges.find(candidate => candidate.range === range);
    if (found !== undefined) return found.q;
  }
  return 0;
}
