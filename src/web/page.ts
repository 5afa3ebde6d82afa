import type { Account } from '../accounts/account.ts';
import type { Deployment } from '../deployment.ts';
import type { Html, HtmlValue } from '../lib/html/html.ts';
import { escapeMarkdown, htmlToMarkdown } from '../lib/html/html-to-markdown.ts';
import type { FileLimits, PageRequest } from '../lib/http/server/pages.ts';
import type { MaybePromise } from '../lib/maybe-promise.ts';
import type { SessionOrigin } from '../lib/origin.ts';
import type { SignedIn } from '../sessions/session.ts';
import type { Site } from './site.ts';

/** The people that may open a page: everyone, accounts that are signed in, or admins that are signed in. */
export type PageAccess = 'everyone' | 'account' | 'admin';

/** The menus of the site; a page without one is reached by links. */
export type Menu = 'main' | 'account' | 'operator';

/** One page of the site: router, navigation, authorization, security headers and the tests of every page derive from it. */
export interface Page {
  /** The path with parameters in braces; it may end with `*`. */
  readonly path: string;
  /** The name of the page, in menus and in the title of the window. */
  readonly title: string;
  readonly access: PageAccess;
  /** The deployments that serve the page: all, or the portal only, which has the accounts. */
  readonly on: 'every deployment' | 'portal';
  readonly menu?: Menu;
  /**
   * Whether the page is the same for everyone who is not signed in: it is rendered and compressed once, and again when it is
   * this many milliseconds old.
   */
  readonly cached?: true | { readonly forMs: number };
  /** Whether the page shows a key, or its path is a secret: it is never compressed (BREACH). */
  readonly showsSecret?: true;
  /** Whether a suspended account can open the page. */
  readonly whileSuspended?: true;
  /** Whether its form needs no token, because it acts for nobody: `Sec-Fetch-Site` and `Origin` are still checked. */
  readonly withoutToken?: true;
  /** The most bytes of its form, if that may have long texts; 64 KiB by default. */
  readonly formBytesMax?: number;
  /** The file that its form sends as `multipart/form-data`, after its token. */
  readonly file?: FileLimits;
  /** Returns the page for `GET`, or `undefined` if there is none at this path after all. */
  show?(visit: Visit): MaybePromise<PageResult | undefined>;
  /** Handles its form. The request is from the same site, and has the token of the visitor. */
  submit?(visit: Visit): MaybePromise<PageResult | undefined>;
  /** Returns the page as Markdown, for its twin. Every public page of content has one. */
  markdown?(visit: Visit): MaybePromise<string | undefined>;
}

/** A request for a page by someone. */
export interface Visit {
  readonly site: Site;
  /** The deployment of the address. */
  readonly deployment: Deployment;
  readonly request: PageRequest;
  /** The decoded path parameters. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The fields of the form; empty for `GET`. */
  readonly form: URLSearchParams;
  /** The file of the form, of a page that takes one; it throws a problem if it is too large or does not arrive. */
  readonly file?: AsyncIterable<Buffer> | undefined;
  /** The account that is signed in, with its session. */
  readonly signedIn: SignedIn | undefined;
  /** Whether the browser keeps the session's cookie: over HTTPS, and on localhost. */
  readonly canSignIn: boolean;
  /** Counts work of this visit that takes as long as another page. */
  countPage(): void;
  /** Returns the hidden field that every form with `method="post"` needs. */
  tokenField(): Html;
  /** Returns the absolute URL for a link in Markdown: for a page with a Markdown twin, that of the twin. */
  markdownUrl(href: string): string;
}

/** A visit of someone who is signed in. */
export interface AccountVisit extends Visit {
  readonly signedIn: SignedIn;
  readonly account: Account;
  /** The origin of changes, which `Database.write` takes. */
  readonly origin: SessionOrigin;
}

export type PageResult = View | Redirect | Download;

/** The errors of a form that was sent, by the name of the field; those of no field under ''. */
export type FormErrors = Readonly<Record<string, HtmlValue>>;

/** A page to show. */
export interface View {
  /** The title of the window and the first heading; that of the page by default. */
  readonly title?: string;
  /** One sentence for search engines and previews. */
  readonly description?: string;
  /** The content after the first heading; a `layout: 'bare'` has its own heading. */
  readonly body: Html;
  readonly layout?: 'normal' | 'bare';
  /** The client scripts of the page: names of files in `assets/`. */
  readonly scripts?: readonly string[];
  /** Its style sheets besides `style.css`, likewise. */
  readonly styles?: readonly string[];
  /** More elements of the head: see `share.ts`. */
  readonly head?: Html;
  /** Whether its scripts may ask the browser where the visitor is. */
  readonly locates?: boolean;
  /** The errors of the form that was sent; the page lists them above the content. */
  readonly errors?: FormErrors | undefined;
  /** 200 by default, 422 with errors. */
  readonly status?: number;
  readonly cookies?: readonly string[];
}

/** Sends the browser to another page. */
export interface Redirect {
  /** A path of the site. */
  readonly location: string;
  readonly cookies?: readonly string[];
}

/** A response that is not a page of the site: a file, JSON or Markdown. */
export interface Download {
  readonly contentType: string;
  readonly bytes: string | Buffer;
  /** The content in parts, in place of the bytes, if it may be large. */
  readonly parts?: AsyncIterable<string | Buffer>;
  readonly status?: number;
  /** The name under which browsers save the file; without it they show it. */
  readonly fileName?: string;
  /** For how many seconds everyone may keep the content; without it nobody may. */
  readonly maxAge?: number;
}

type Definition<V extends Visit> = Omit<Page, 'access' | 'on' | 'show' | 'submit' | 'markdown'> &
  Partial<Pick<Page, 'on'>> & {
    show?(visit: V): MaybePromise<PageResult | undefined>;
    submit?(visit: V): MaybePromise<PageResult | undefined>;
  };

interface Content extends Omit<Definition<Visit>, 'show'>, Pick<Page, 'markdown'> {
  show(visit: Visit): MaybePromise<View | undefined>;
}

/** Defines a page of content that everyone can open. Without a Markdown form of its own, its twin is the view as Markdown. */
export function publicPage(definition: Content): Page {
  const markdown = (visit: Visit) => viewMarkdown(definition, visit);
  return { on: 'every deployment', markdown, ...definition, access: 'everyone' };
}

/** Defines a form that everyone can send. It has no Markdown twin: it needs a browser, and its path can be a secret. */
export function publicForm(definition: Definition<Visit> & Required<Pick<Page, 'submit'>>): Page {
  return { on: 'every deployment', ...definition, access: 'everyone' };
}

/** Defines a file that everyone can load: it is for programs already, so it has no Markdown twin. */
export function publicFile(
  definition: Omit<Content, 'show' | 'submit' | 'markdown'> & {
    show(visit: Visit): MaybePromise<Download | undefined>;
  },
): Page {
  return { on: 'every deployment', ...definition, access: 'everyone' };
}

/** Defines a page of the account that is signed in. */
export function accountPage(definition: Definition<AccountVisit>): Page {
  return { on: 'portal', ...definition, access: 'account' } as Page;
}

/** Defines a page for admins. */
export function operatorPage(definition: Definition<AccountVisit>): Page {
  return { on: 'portal', ...definition, access: 'admin' } as Page;
}

/** Returns the path of a page with the values of its parameters. */
export function pathWith({ path }: Pick<Page, 'path'>, parameters: Visit['parameters']): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parameters[name]!));
}

async function viewMarkdown(page: Content, visit: Visit): Promise<string | undefined> {
  const view = await page.show(visit);
  if (view === undefined) return undefined;
  const heading = view.layout === 'bare' ? '' : `# ${escapeMarkdown(view.title ?? page.title)}\n\n`;
  const link = visit.markdownUrl;
  return (
    heading + htmlToMarkdown(view.body, { link, page: visit.request.publicUrl + pathWith(page, visit.parameters) })
  );
}
