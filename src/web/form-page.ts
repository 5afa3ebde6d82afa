import { Problem } from '../lib/http/problem.ts';
import type { MaybePromise } from '../lib/maybe-promise.ts';
import { formError } from './forms.ts';
import { type AccountVisit, accountPage, type View, type WebPage } from './page.ts';

type Definition<Subject> = Omit<Parameters<typeof accountPage>[0], 'show' | 'submit'> & {
  /** Returns what the path names, such as an animal; `undefined` if the account has no such thing. */
  find(visit: AccountVisit): Promise<Subject | undefined>;
  /** Returns the page. @param error that of a rejected change */
  view(visit: AccountVisit, subject: Subject, error?: string): MaybePromise<View>;
  /** Makes the change of the form. Returns the path to open then. */
  change(visit: AccountVisit, subject: Subject): Promise<string>;
};

/** Defines a page with a form that changes one thing of the account. After an error, it shows the thing as it is now. */
export function formPage<Subject>({ find, view, change, ...page }: Definition<Subject>): WebPage {
  return accountPage({
    ...page,
    async show(visit) {
      const subject = await find(visit);
      return subject && view(visit, subject);
    },
    async submit(visit) {
      const subject = await find(visit);
      if (subject === undefined) return undefined;
      try {
        return { location: await change(visit, subject) };
      } catch (error) {
        if (error instanceof Problem && error.status === 429) throw error;
        const message = formError(error);
        return view(visit, (await find(visit)) ?? subject, message);
      }
    },
  });
}
