import { dayFormat } from '../time.ts';

/** Marks HTML. Only this module has it, so that no value from outside passes as HTML. */
const isHtml = Symbol('HTML');

/** Text that is HTML already: templates insert it unchanged. */
export interface Html {
  readonly [isHtml]: true;
  readonly text: string;
}

/** Returns a text as HTML, which templates do not escape. */
export function rawHtml(text: string): Html {
  return { [isHtml]: true, text };
}

/** A value in a template: HTML, text or a number that is escaped, a list of them, or nothing. */
export type HtmlValue = Html | string | number | false | null | undefined | readonly HtmlValue[];

/**
 * The template tag of every page. Escapes each value unless it is HTML itself; joins lists; omits `false`, `null` and
 * `undefined`. Attribute values must be in double quotes.
 */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let text = parts[0]!;
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (typeof value === 'string') text += special.test(value) ? escapeHtml(value) : value;
    else if (typeof value === 'number') text += value;
    else if (value) text += isHtml in value ? value.text : joined(value);
    text += parts[index + 1]!;
  }
  return { [isHtml]: true, text };
}

function joined(values: readonly HtmlValue[]): string {
  let text = '';
  for (const value of values) {
    text += typeof value === 'object' && value && isHtml in value ? value.text : html`${value}`.text;
  }
  return text;
}

/** A character that is escaped. Most values contain none. */
const special = /[&<>"']/;

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`);
}

/** Converts a sentence of the documentation to HTML, with `<code>` in place of backticks. */
export function sentence(text: string): Html {
  return rawHtml(escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>'));
}

/** Returns a time as people read it: `22 Nov 2026, 13:45 UTC`. @param at milliseconds since the Unix epoch */
export function timeHtml(at: number): Html {
  const date = new Date(at);
  const [day, clock] = [dayFormat.format(date), date.toISOString().slice(11, 16)];
  return html`<time datetime="${date.toISOString()}">${day}, ${clock} UTC</time>`;
}

/** Returns a UTC day as people read it; see `dayFormat`. */
export function dayHtml(date: Date): Html {
  return html`<time datetime="${date.toISOString()}">${dayFormat.format(date)}</time>`;
}
