import { Problem } from '../../lib/http/problem.ts';
import type { MaybePromise } from '../../lib/maybe-promise.ts';
import { UserError } from '../../lib/user-error.ts';
import { withQuery } from '../deployments.ts';
import { formError } from '../forms.ts';
import {
  type AccountVisit,
  operatorPage,
  type PageResult,
  pathWith,
  type Redirect,
  type View,
  type WebPage,
} from '../page.ts';

/** The errors of a form by field; those of the whole form under ''. */
export type Errors<Field extends string> = Readonly<Partial<Record<Field | '', string | undefined>>>;

/** A form on the page of a resource. */
interface Form<Found, Field extends string> {
  /** The title of its page. */
  readonly title?: string;
  readonly asksAgain?: WebPage['asksAgain'];
  /** Returns the errors of the entries. */
  wrong?(visit: AccountVisit, found: Found): Errors<Field>;
  /**
   * Makes the change. Returns the name of the text that says so on the page of the resource, or another page to go to.
   * @throws {UserError|Problem} when the resource cannot be changed so
   */
  work(visit: AccountVisit, found: Found): Promise<string | Redirect>;
  /** The field that an error of the work is about; the whole form by default. */
  readonly about?: Field;
}

interface Resource<Found, Field extends string> extends Pick<WebPage, 'path' | 'title'> {
  /** Returns the resource that the path names, or `undefined`, or throws, if there is none. */
  find(visit: AccountVisit): Promise<Found | undefined>;
  view(visit: AccountVisit, found: Found, errors?: Errors<Field>): MaybePromise<View>;
  /** Its forms by the part that follows its path: '' for one that is sent to the page itself. */
  readonly forms?: Readonly<Record<string, Form<Found, Field>>>;
}

/** Defines the page of a resource and its forms. A form with errors shows the resource again. */
export function resourcePages<Found, Field extends string = never>(resource: Resource<Found, Field>): WebPage[] {
  const { path, title, view, forms = {} } = resource;
  const find = async (visit: AccountVisit) => {
    try {
      return await resource.find(visit);
    } catch (error) {
      if (error instanceof UserError || (error instanceof Problem && error.status === 404)) return undefined;
      throw error;
    }
  };
  const show = async (visit: AccountVisit) => {
    const found = await find(visit);
    return found && view(visit, found);
  };
  const submit = async (visit: AccountVisit, form: Form<Found, Field>): Promise<PageResult | undefined> => {
    const found = await find(visit);
    if (found === undefined) return undefined;
    const errors = form.wrong?.(visit, found);
    if (errors && Object.values(errors).some(error => error !== undefined)) return view(visit, found, errors);
    try {
      const done = await form.work(visit, found);
      if (typeof done !== 'string') return done;
      const deployment = visit.query.get('deployment') ?? undefined;
      return { location: withQuery(pathWith(resource, visit.parameters), { deployment, done }) };
    } catch (error) {
      return view(visit, found, { [form.about ?? '']: formError(error) } as Errors<Field>);
    }
  };
  const { '': own, ...others } = forms;
  return [
    operatorPage({ path, title, show, ...(own && { submit: visit => submit(visit, own) }) }),
    ...Object.entries(others).map(([name, form]) =>
      operatorPage({
        path: `${path}/${name}`,
        title: form.title ?? title,
        ...(form.asksAgain && { asksAgain: form.asksAgain }),
        submit: visit => submit(visit, form),
      }),
    ),
  ];
}
