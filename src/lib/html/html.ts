/** Text that is HTML already: templates insert it unchanged. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

/** A value in a template: HTML, text or a number that is escaped, a list of them, or nothing. */
export type HtmlValue = Html | string | number | false | null | undefined | readonly HtmlValue[];

/**
 * The template tag of every page. Escapes each value unless it is HTML itself; joins lists; leaves out `false`, `null` and
 * `undefined`. Attribute values must be in double quotes.
 */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let text = parts[0]!;
  for (const [index, value] of values.entries()) text += render(value) + parts[index + 1]!;
  return new Html(text);
}

function render(value: HtmlValue): string {
  if (value instanceof Html) return value.text;
  if (value === undefined || value === null || value === false) return '';
  if (typeof value === 'object') return value.map(render).join('');
  return escapeHtml(String(value));
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`);
}

/** Converts a sentence of the documentation to HTML, with `<code>` in place of backticks. */
export function sentence(text: string): Html {
  return new Html(escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>'));
}

/** Returns a time as people read it: `22 Nov 2026, 13:45 UTC`. @param at milliseconds since the Unix epoch */
export function timeHtml(at: number): Html {
  const date = new Date(at);
  const [day, clock] = [dayFormat.format(date), date.toISOString().slice(11, 16)];
  return html`<time datetime="${date.toISOString()}">${day}, ${clock} UTC</time>`;
}

/** Returns a UTC day as people read it: `22 Nov 2026`. */
export function dayHtml(date: Date): Html {
  return html`<time datetime="${date.toISOString()}">${dayFormat.format(date)}</time>`;
}

const dayFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
