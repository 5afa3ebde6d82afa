import { type Html, type HtmlValue, html } from '../../lib/html/html.ts';
import type { Page } from '../../lib/http/pagination/paginate.ts';
import type { MaybePromise } from '../../lib/maybe-promise.ts';
import { deploymentOf, deploymentTabs } from '../deployments.ts';
import { choicesOf, notice, select } from '../forms.ts';
import { idOf, listPage, pageLinks } from '../lists.ts';
import { type AccountVisit, operatorPage, type WebPage } from '../page.ts';
import { type Columns, table } from '../parts.ts';
import { styles } from './parts.ts';

/** A filter of a list: a field of its search form, and a query parameter. */
export interface Filter<Value> {
  readonly label: string;
  /** The type of its input; `search` by default. */
  readonly type?: 'number' | 'datetime-local';
  /** The values to choose from with their labels, in place of an input. */
  readonly choices?: Readonly<Record<string, string>>;
  /** Returns the value of a text that is not empty; `undefined` if it is not valid. */
  parse(text: string): Value | undefined;
  /** The error of a text that is not valid. Without it, such a text filters nothing. */
  readonly rule?: string;
}

/** The filters of a list by the names of their parameters. */
type Filters<Values> = { readonly [Name in keyof Values]: Filter<Values[Name]> };
type Given<Values> = { readonly [Name in keyof Values]: Values[Name] | undefined };

/** Returns a filter by a numeric id. */
export function idFilter(label: string, rule?: string): Filter<number> {
  return { label, type: 'number', parse: idOf, ...(rule && { rule }) };
}

/** Returns a filter by a text, from which it removes NUL: PostgreSQL cannot store it. */
export function textFilter(label: string): Filter<string> {
  return { label, parse: text => text.replaceAll('\0', '').trim() || undefined };
}

/** Returns a filter by one of these values. */
export function choiceFilter<Value extends string>(
  label: string,
  labels: Readonly<Record<Value, string>>,
): Filter<Value> {
  const choices = { '': 'All', ...labels };
  return { label, choices, parse: text => (Object.hasOwn(labels, text) ? (text as Value) : undefined) };
}

/** A list for operators. The functions get the visit with the deployment that the list is of. */
interface List<Row, Values> extends Pick<WebPage, 'path' | 'title' | 'menu'> {
  /** Whether each deployment has such a list: the address names it, production by default. */
  readonly perDeployment?: true;
  readonly filters?: Filters<Values>;
  /** The text of the button of its form. */
  readonly submit?: string;
  read(visit: AccountVisit, given: Given<Values>, page: ReturnType<typeof listPage>): Promise<Page<Row>>;
  /** The name of the table. */
  readonly caption: string;
  columns(visit: AccountVisit): Columns<Row>;
  /** The text of the page if no row matches. */
  readonly empty: string;
  /** Returns the text above the list. */
  intro?(visit: AccountVisit): HtmlValue;
  /** Returns the content between the form and the table. */
  between?(visit: AccountVisit): MaybePromise<HtmlValue>;
}

/** Defines the page of a list: its tabs, its form, its table and the links to its other pages. */
export function operatorList<Row, Values>(list: List<Row, Values>): WebPage {
  const { path, title, menu, filters = {} as Filters<Values>, perDeployment } = list;
  return operatorPage({
    ...{ path, title, ...(menu && { menu }) },
    async show(visit) {
      const deployment = perDeployment ? deploymentOf(visit) : visit.deployment;
      if (deployment === undefined) return undefined;
      const on = { ...visit, deployment };
      const { given, errors } = givenIn(visit, filters);
      const found = await list.read(on, given, listPage(visit));
      const hidden = perDeployment && html`<input type="hidden" name="deployment" value="${deployment.name}">`;
      return {
        styles,
        status: errors.length === 0 ? 200 : 422,
        body: html`${list.intro?.(on)}
${perDeployment && deploymentTabs(visit, path, deployment.name)}
${errors.length > 0 && notice('alert', html`<ul>${errors.map(error => html`<li>${error}</li>`)}</ul>`)}
${Object.keys(filters).length > 0 && filterForm(visit, path, filters, list.submit, hidden)}
${await list.between?.(on)}
${table(list.caption, list.columns(on), found.rows, emptyText(list.empty, found))}
${pageLinks(visit, found)}`,
      };
    },
  });
}

/** Parses the filters in the query. Returns the valid values by filter, and an error for each invalid value that has a rule. */
export function givenIn<Values>({ query }: AccountVisit, filters: Filters<Values>) {
  const given: Record<string, unknown> = {};
  const errors: string[] = [];
  for (const [name, { parse, rule }] of Object.entries<Filter<unknown>>(filters)) {
    const text = query.get(name)?.trim() ?? '';
    if (text === '') continue;
    given[name] = parse(text);
    if (given[name] === undefined && rule !== undefined) errors.push(rule);
  }
  return { given: given as Given<Values>, errors };
}

/** Returns a search form, whose fields become query parameters. */
export function filterForm<Values>(
  { query }: AccountVisit,
  action: string,
  filters: Filters<Values>,
  submit = 'Search',
  hidden?: HtmlValue,
): Html {
  const fields = Object.entries<Filter<unknown>>(filters).map(([name, { label, type = 'search', choices }]) => {
    const text = query.get(name) ?? '';
    if (choices !== undefined) return select({ name, label, choices: choicesOf(choices, text) });
    return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" value="${text}" autocomplete="off">
</div>`;
  });
  return html`<form action="${action}" class="filter">
${hidden}${fields}
<button class="secondary">${submit}</button>
</form>`;
}

/** Returns the text of an empty page, which may be incomplete, because the list was read up to a bound. */
function emptyText(text: string, { next }: Page<unknown>): string {
  return next === undefined ? text : 'No row that was read so far matches. There are more rows to read.';
}
