import { problem } from '../errors.ts';
import { type Html, type HtmlValue, html } from '../lib/html/html.ts';
import type { CreationCheck } from '../lib/http/route.ts';
import type { FormErrors, Visit } from './page.ts';

/** A field of a form. */
export interface Field {
  readonly name: string;
  readonly label: HtmlValue;
  /** The type of the input; `text` by default. */
  readonly type?: 'text' | 'email' | 'number' | 'search' | 'datetime-local';
  readonly value?: string | number | null | undefined;
  /** The valid values, shown below the label. */
  readonly hint?: HtmlValue;
  /** The error, as a sentence. */
  readonly error?: string | undefined;
  /** The kind of value for autofill: `email`, `new-password`, … (HTML Standard). */
  readonly autocomplete?: string;
  readonly optional?: true;
  readonly maxLength?: number;
  readonly min?: number;
  readonly max?: number;
}

/** The fields of passwords, which no page repeats, by name. */
export const passwordLabels = {
  password: 'Password',
  current: 'Current password',
  emailPassword: 'Password',
} as const;

export type PasswordName = keyof typeof passwordLabels;

export function isPasswordName(name: string): name is PasswordName {
  return Object.hasOwn(passwordLabels, name);
}

/** A field for a password. */
export type PasswordField = Omit<Field, 'name' | 'type' | 'value'> & { readonly name: PasswordName };

/** Returns a labelled input for a password, likewise. */
export function passwordField(options: PasswordField): Html {
  return input({ ...options, type: 'password' });
}

/** Returns a labelled input with its hint and its error beside it. */
export function field(options: Field): Html {
  return input(options);
}

function input({
  name,
  label,
  type = 'text',
  value,
  hint,
  error,
  ...rest
}: Omit<Field, 'type'> & { type?: Field['type'] | 'password' }): Html {
  const described = [hint !== undefined && `${name}-hint`, error !== undefined && `${name}-error`].filter(Boolean);
  const { autocomplete = 'off', optional, maxLength, min, max } = rest;
  return html`<div class="field">
<label for="${name}">${label}${optional && html` <span class="quiet">(optional)</span>`}</label>
${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
<input id="${name}" name="${name}" type="${type}" value="${value ?? ''}" autocomplete="${autocomplete}"${!optional && html` required`}${
    maxLength !== undefined && html` maxlength="${maxLength}"`
  }${min !== undefined && html` min="${min}"`}${max !== undefined && html` max="${max}"`}${
    described.length > 0 && html` aria-describedby="${described.join(' ')}"`
  }${error !== undefined && html` aria-invalid="true"`}>
${errorText(name, error)}
</div>`;
}

/** Returns a labelled field for several lines, likewise. */
export function textArea({
  name,
  label,
  value,
  error,
  optional,
  maxLength,
}: Pick<Field, 'name' | 'label' | 'value' | 'error' | 'optional' | 'maxLength'>): Html {
  return html`<div class="field">
<label for="${name}">${label}${optional && html` <span class="quiet">(optional)</span>`}</label>
<textarea id="${name}" name="${name}" rows="6"${!optional && html` required`} dir="auto"${maxLength !== undefined && html` maxlength="${maxLength}"`}${
    error !== undefined && html` aria-describedby="${name}-error" aria-invalid="true"`
  }>
${value ?? ''}</textarea>
${errorText(name, error)}
</div>`;
}

/** Returns the error of a field, to which `aria-describedby` refers; nothing without one. */
export function errorText(name: string, error: string | undefined): Html | undefined {
  return error === undefined ? undefined : html`<p class="error" id="${name}-error">${error}</p>`;
}

/** A choice of a select, radio buttons or checkboxes. */
export interface Choice {
  readonly value: string;
  readonly label: HtmlValue;
  readonly hint?: HtmlValue;
  readonly checked?: boolean;
}

/** Returns a select with its error beside it. @param required whether a choice with an empty value is none */
export function select({
  name,
  label,
  choices,
  error,
  required,
}: {
  name: string;
  label: string;
  choices: readonly Choice[];
  error?: string | undefined;
  required?: true;
}): Html {
  return html`<div class="field">
<label for="${name}">${label}</label>
<select id="${name}" name="${name}"${required && html` required`}${error !== undefined && html` aria-describedby="${name}-error" aria-invalid="true"`}>${choices.map(
    ({ value, label, checked }) => html`<option value="${value}"${checked && html` selected`}>${label}</option>`,
  )}</select>
${errorText(name, error)}
</div>`;
}

/** Returns a group of radio buttons or checkboxes. */
export function choices(
  type: 'radio' | 'checkbox',
  {
    name,
    label,
    choices,
    error,
  }: { name: string; label: string; choices: readonly Choice[]; error?: string | undefined },
): Html {
  return html`<fieldset class="field" id="${name}"${error !== undefined && html` aria-describedby="${name}-error"`}>
<legend>${label}</legend>
${choices.map(
  ({ value, label, hint, checked }) =>
    html`<label class="choice"><input type="${type}" name="${name}" value="${value}"${checked && html` checked`}> <span>${label}${hint !== undefined && html` <span class="hint">${hint}</span>`}</span></label>
`,
)}${errorText(name, error)}
</fieldset>`;
}

/** Returns a form that is sent by POST, with its token and its button. */
export function form(
  visit: Pick<Visit, 'tokenField'>,
  {
    action,
    submit,
    className = 'stacked',
    danger,
  }: { action: string; submit: string; className?: string; danger?: true },
  fields: HtmlValue,
): Html {
  return html`<form method="post" action="${action}" class="${className}">
${visit.tokenField()}
${fields}
<button${danger && html` class="danger"`}>${submit}</button>
</form>`;
}

/**
 * Returns the list of errors above a form, with links to the fields; nothing without errors. It has the focus when the page
 * opens: `site.js` sets it where browsers ignore `autofocus`, such as in addresses with a fragment.
 */
export function errorSummary(errors: FormErrors = {}): Html | undefined {
  const list = Object.entries(errors).filter(([, error]) => error);
  if (list.length === 0) return undefined;
  const items = list.map(([name, error]) => (name === '' ? error : html`<a href="#${name}">${error}</a>`));
  return html`<div class="notice alert errors" role="alert" tabindex="-1" autofocus>${
    list.length === 1
      ? html`<p>${items}</p>`
      : html`<p><strong>Some entries need another value.</strong></p><ul>${items.map(item => html`<li>${item}</li>`)}</ul>`
  }</div>`;
}

/** Returns a message above a form or a list. @param kind `status` is announced by screen readers when they can, `alert` at once */
export function notice(kind: 'status' | 'alert', content: HtmlValue): Html {
  return html`<div class="notice ${kind}" role="${kind}">${content}</div>`;
}

/**
 * Returns the message about a change that a form made, after the redirect to the page with its name in the query.
 * @param name a query parameter, which only selects one of the texts and is never shown
 * @param more what the message says besides
 */
export function doneNotice(
  texts: Readonly<Record<string, string>>,
  name: string | null,
  more?: Html,
): Html | undefined {
  return name !== null && Object.hasOwn(texts, name) ? notice('status', html`<p>${texts[name]}</p>${more}`) : undefined;
}

/**
 * Returns the check that what a form changes is still as it was shown: the form has its entity tag in `etag`.
 * @param noun what is changed, as the message names it
 */
export function checkOf({ form }: Pick<Visit, 'form'>, noun: string): CreationCheck {
  return etag => {
    if ((etag ?? '') === (form.get('etag') ?? '')) return;
    throw problem('precondition_failed', `The ${noun} has changed since. Open this page again.`);
  };
}
