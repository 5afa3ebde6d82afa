import type { Deployment } from '../access/deployment.ts';
import type { SignedIn } from '../access/sessions/session.ts';
import type { Html, HtmlValue } from '../lib/html/html.ts';
import { escapeMarkdown, htmlToMarkdown } from '../lib/html/html-to-markdown.ts';
import type { FileLimits, WebPageRequest } from '../lib/http/server/pages.ts';
import type { MaybePromise } from '../lib/maybe-promise.ts';
import type { SessionOrigin } from '../lib/origin.ts';
import type { Account } from '../model/account.ts';
import type { Permission } from '../model/roles.ts';
import type { Site } from './site.ts';

/** The visitors that may open the page: everyone, members of an account, or owners of an admin account. */
type PageAccess = 'everyone' | 'account' | 'admin';

/**
 * The menus of the site: that of the public pages, and the groups of pages for members. A page without a menu is
 * reached by links.
 */
export type Menu = 'main' | 'desk' | 'developers' | 'account' | 'operator';

/** How a menu shows a page, where the title is not enough. */
interface MenuItem {
  /** The text, if it differs from the title of the page. */
  readonly text?: string;
  /** Whether the item is indented, because the page belongs to the item before it. */
  readonly indented?: true;
  /** The key that opens the page from every page with the menu. */
  readonly key?: string;
}

/**
 * A page of the site. Router, navigation, authorization, security headers and the tests of every page derive from it.
 */
export interface WebPage {
  /** The path with parameters in braces; it may end with `*`. */
  readonly path: string;
  /** The name of the page, in menus and in the window title. */
  readonly title: string;
  readonly access: PageAccess;
  /** The permission that its form requires, on pages of accounts. */
  readonly permission?: Permission;
  /** The permission that is enough to open the page; by default `permission`. */
  readonly shownFor?: Permission;
  /** The deployments that serve the page: all, or only the portal, which has the accounts. */
  readonly on: 'every deployment' | 'portal';
  readonly menu?: Menu;
  readonly menuItem?: MenuItem;
  /** The path of the page that the menu shows as the current one, if it is not the page above this one. */
  readonly parent?: string;
  /**
   * Whether the page is the same for every visitor without a session. Then it is rendered and compressed once, and
   * again when it is `forMs` old.
   */
  readonly cached?: true | { readonly forMs: number };
  /** Whether the page shows a key, or its path is a secret: it is never compressed (BREACH). */
  readonly showsSecret?: true;
  /**
   * The people who confirm their sign-in before the page accepts its form, unless they did so in the last minutes. People
   * with a second factor use it. With `everyone`, the others enter their password; see `sessions/again.ts`.
   */
  readonly asksAgain?: 'everyone' | 'people with a second factor';
  /** Whether members without a second factor can open the page in an account that requires one. */
  readonly withoutFactor?: true;
  /** Whether a suspended account can open the page. */
  readonly whileSuspended?: true;
  /**
   * Whether its form needs no token, because it does not act for an account. `Sec-Fetch-Site` and `Origin` are still
   * checked.
   */
  readonly withoutToken?: true;
  /** Whether its form has no fields: the body is not read, so that it may have any content type. */
  readonly withoutFields?: true;
  /** The maximum size of its form in bytes, if it has long texts; 64 KiB by default. */
  readonly formBytesMax?: number;
  /** The file that its form sends as `multipart/form-data`, after its token. */
  readonly file?: FileLimits;
  /** Returns the page for `GET`, or `undefined` if no page exists at this path. */
  show?(visit: Visit): MaybePromise<PageResult | undefined>;
  /** Handles its form. The request is from the same site, and has the token of the visitor. */
  submit?(visit: Visit): MaybePromise<PageResult | undefined>;
  /** Returns the page as Markdown for its twin. Every public page with content has one. */
  markdown?(visit: Visit): MaybePromise<string | undefined>;
}

/** A request for a page by a visitor. */
export interface Visit {
  readonly site: Site;
  /** The deployment of the address. */
  readonly deployment: Deployment;
  readonly request: WebPageRequest;
  /** The decoded path parameters. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The fields of the form; empty for `GET`. */
  readonly form: URLSearchParams;
  /**
   * The file of the form, if the page accepts one. Reading it throws a problem if it is too large or does not arrive.
   */
  readonly file?: AsyncIterable<Buffer> | undefined;
  /** The signed-in person, with the session and its account. */
  readonly signedIn: SignedIn | undefined;
  /** Whether the role of the member allows to open the page, but not to send its forms. */
  readonly isReadOnly: boolean;
  /** Whether the browser stores the session's cookie: over HTTPS, and on localhost. */
  readonly canSignIn: boolean;
  /** Counts additional work that takes as long as rendering a page. */
  countPage(): void;
  /** Returns the hidden field that every form with `method="post"` needs. */
  tokenField(): Html;
  /** Returns the absolute URL of a link in Markdown; for a page with a Markdown twin, the URL of the twin. */
  markdownUrl(href: string): string;
}

/** A visit of a signed-in person, on the pages of an account. */
export interface AccountVisit extends Visit {
  readonly signedIn: SignedIn;
  readonly account: Account;
  /** Reports whether the role of the member gives a permission. */
  may(permission: Permission): boolean;
  /** The origin of changes, which `Database.write` takes. */
  readonly origin: SessionOrigin;
}

/** Returns the actor of a reader or a change: the account itself, without the rights of an admin. */
export function ownActor({ account }: AccountVisit) {
  return { accountId: account.id, admin: false };
}

export type PageResult = View | Redirect | Download;

/** The errors of a submitted form by field; the key '' has those of the whole form. */
export type FormErrors = Readonly<Record<string, HtmlValue>>;

/** A page to show. */
export interface View {
  /** The window title and the first heading; by default the title of the page. */
  readonly title?: string;
  /** One sentence for search engines and previews. */
  readonly description?: string;
  /** The content after the first heading. A page with `layout: 'bare'` contains its own heading. */
  readonly body: Html;
  readonly layout?: 'normal' | 'bare';
  /** The client scripts of the page: names of files in `assets/`. */
  readonly scripts?: readonly string[];
  /** Its style sheets besides `style.css`: names of files in `assets/`. */
  readonly styles?: readonly string[];
  /** More elements of the head; see `share.ts`. */
  readonly head?: Html;
  /** Whether its scripts may ask the browser for the visitor's location. */
  readonly locates?: boolean;
  /** The errors of the submitted form; the page lists them above the content. */
  readonly errors?: FormErrors | undefined;
  /** By default 200, or 422 with errors. */
  readonly status?: number;
  readonly cookies?: readonly string[];
}

/** A redirect to another page. */
export interface Redirect {
  /** A path of the site. */
  readonly location: string;
  readonly cookies?: readonly string[];
}

/** A response that is not a page of the site: a file, JSON or Markdown. */
interface Download {
  readonly contentType: string;
  readonly bytes: string | Buffer;
  /** The content in parts, instead of the bytes, if it may be large. */
  readonly parts?: AsyncIterable<string | Buffer>;
  readonly status?: number;
  /** The name under which browsers save the file; without a name, they show it. */
  readonly fileName?: string;
  /** For how many seconds any cache may store the content; without it, no cache may. */
  readonly maxAge?: number;
}

type Definition<V extends Visit> = Omit<WebPage, 'access' | 'on' | 'show' | 'submit' | 'markdown'> &
  Partial<Pick<WebPage, 'on'>> & {
    show?(visit: V): MaybePromise<PageResult | undefined>;
    submit?(visit: V): MaybePromise<PageResult | undefined>;
  };

interface Content extends Omit<Definition<Visit>, 'show'>, Pick<WebPage, 'markdown'> {
  show(visit: Visit): MaybePromise<View | undefined>;
}

/** Defines a page of content that everyone can open. Without `markdown`, its twin is the view converted to Markdown. */
export function publicPage(definition: Content): WebPage {
  const markdown = (visit: Visit) => viewMarkdown(definition, visit);
  return { on: 'every deployment', markdown, ...definition, access: 'everyone' };
}

/**
 * Defines a form that everyone can send. It has no Markdown twin, because it needs a browser and its path can be a
 * secret.
 */
export function publicForm(definition: Definition<Visit> & Required<Pick<WebPage, 'submit'>>): WebPage {
  return { on: 'every deployment', ...definition, access: 'everyone' };
}

/** Defines a file that everyone can load. It has no Markdown twin, because the file is for programs already. */
export function publicFile(
  definition: Omit<Content, 'show' | 'submit' | 'markdown'> & {
    show(visit: Visit): MaybePromise<Download | undefined>;
  },
): WebPage {
  return { on: 'every deployment', ...definition, access: 'everyone' };
}

/** Defines a page for members of an account. */
export function accountPage(definition: Definition<AccountVisit> & Required<Pick<WebPage, 'permission'>>): WebPage {
  return { on: 'portal', ...definition, access: 'account' } as WebPage;
}

/** Defines a page for owners of an admin account. */
export function operatorPage(definition: Definition<AccountVisit>): WebPage {
  return { on: 'portal', permission: 'operate', ...definition, access: 'admin' } as WebPage;
}

/** Returns the path of a page with the values of its parameters. */
export function pathWith({ path }: Pick<WebPage, 'path'>, parameters: Visit['parameters']): string {
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
