import type { Deployment } from '../access/deployment.ts';
import { countedAddress } from '../access/limits/address.ts';
import {
  type CookieNames,
  clearCookie,
  cookieNames,
  cookieOf,
  formTokenOf,
  isFormToken,
  maskedTokenOf,
  setCookie,
} from '../access/sessions/cookies.ts';
import { newSecret, type SignedIn } from '../access/sessions/session.ts';
import { findSession, recordSeen } from '../access/sessions/sessions.ts';
import { type Html, html } from '../lib/html/html.ts';
import { Problem } from '../lib/http/problem.ts';
import { prefersHtml } from '../lib/http/server/accept.ts';
import { contentEtag } from '../lib/http/server/conditional.ts';
import type { PageRoute, WebPageRequest } from '../lib/http/server/pages.ts';
import type { PageContent } from '../lib/http/server/responses.ts';
import type { DeploymentName } from '../model/schema.ts';
import { accountVisitOf, isReadOnly, refusalOf } from './admission.ts';
import { assets } from './assets.ts';
import { compress } from './compress.ts';
import { errorSummary } from './forms.ts';
import { guideImages } from './guides/images.ts';
import { document } from './layout.ts';
import { type PageResult, pathWith, type Visit, type WebPage } from './page.ts';
import { problemView, staleFormView } from './problem-view.ts';
import { COOKIES_NEED_HTTPS, isLocalhost, namesSite, requireSameSite } from './same-site.ts';
import { submitAgain } from './sessions/again.ts';
import { nowOf, type Site, type SiteUrls } from './site.ts';
import { twinLinks, twinPath } from './twins.ts';

/** The maximum number of cached pages of an address: a memory bound above the number of existing pages. */
const CACHED_MAX = 1000;

const FORM_OUT_OF_DATE = 'This form is out of date. Go back, reload the page, and send it again.';

const noForm = new URLSearchParams();

interface CachedPage {
  readonly content: Promise<PageContent | undefined>;
  /** When it must be rendered again, in milliseconds since the Unix epoch. */
  readonly until: number;
}

/** A counted request, with its cookies. */
interface Admitted {
  readonly request: WebPageRequest;
  readonly names: CookieNames;
  /** The account or the network for which the request counts. */
  readonly client: string;
  /** The secret of the session, which may have ended. */
  readonly secret: string | undefined;
  readonly signedIn: SignedIn | undefined;
  /** The secret of a visitor who is not signed in. */
  readonly visitor: string | undefined;
}

interface ContentOptions {
  readonly status: number;
  readonly locates?: boolean;
  readonly compressible?: boolean;
  readonly cookies?: readonly string[];
}

/** Serves the pages of one deployment according to their definitions. */
export class PageHandler {
  readonly #site: Site;
  readonly #deployment: Deployment;
  readonly #pages: readonly WebPage[];
  /** The pages of the menus, in their order. */
  readonly #menuPages: readonly WebPage[];
  readonly #twinLink: (href: string) => string;
  readonly #cached = new Map<string, CachedPage>();

  /** @param pages every page of the site, in the order of the menus */
  constructor(site: Site, deployment: Deployment, pages: readonly WebPage[]) {
    this.#site = site;
    this.#deployment = deployment;
    this.#pages = pages;
    this.#menuPages = pages.filter(({ menu }) => menu !== undefined);
    this.#twinLink = twinLinks(pages);
  }

  /** The routes of all pages. On deployments other than the portal, pages of accounts redirect to the portal. */
  routes(): PageRoute[] {
    const isPortal = this.#deployment.name === this.#site.portal;
    const routes = this.#pages.flatMap((page): PageRoute[] => {
      const { path } = page;
      const isHere = isPortal || page.on === 'every deployment';
      const show: PageRoute['handle'] = request => (isHere ? this.#show(page, request) : this.#toPortal(request));
      return [
        ...(page.show ? [{ method: 'GET' as const, path, handle: show }] : []),
        ...(page.submit && isHere
          ? [{ method: 'POST' as const, path, handle: (request: WebPageRequest) => this.#submit(page, request) }]
          : []),
      ];
    });
    return [assets, guideImages, ...routes];
  }

  /** Returns the page of a problem. */
  errorPage(problem: Problem, requestId: string, publicUrl: string): PageContent {
    const frame = { ...this.#frame(publicUrl.startsWith('https:')), signedIn: undefined, tokenField: undefined };
    return this.#content(publicUrl, document(problemView(problem, requestId), frame), { status: problem.status });
  }

  /** Serves `GET`: a cached page for visitors without a session, otherwise a page rendered for this visit. */
  async #show(page: WebPage, request: WebPageRequest): Promise<PageContent | undefined> {
    const { session } = cookieNames(request.publicUrl);
    if (!page.cached || cookieOf(request.header('cookie'), session) !== undefined || request.search !== '') {
      return this.#respond(page, await this.#admit(request), noForm, visit => page.show!(visit));
    }
    const key = `${request.publicUrl} ${page.path} ${JSON.stringify(request.parameters)}`;
    const now = nowOf(this.#site);
    const known = this.#cached.get(key);
    if (known !== undefined && now < known.until) return known.content;
    const admitted = await this.#admit(request);
    const rendered = this.#respond(page, admitted, noForm, visit => page.show!(visit)).then(compressed);
    const until = page.cached === true ? Number.POSITIVE_INFINITY : now + page.cached.forMs;
    this.#cached.set(key, { content: rendered, until });
    const forget = () => this.#cached.delete(key);
    rendered.then(content => (content === undefined || this.#cached.size > CACHED_MAX) && forget(), forget);
    return rendered;
  }

  /** Serves `POST`: a form of this site. */
  async #submit(page: WebPage, request: WebPageRequest): Promise<PageContent | undefined> {
    requireSameSite(request);
    const arrived = await this.#admit(request);
    const { client, secret, visitor } = arrived;
    const { fields: form, file } =
      page.file === undefined
        ? {
            fields: page.withoutFields ? new URLSearchParams() : await request.readForm(client, page.formBytesMax),
            file: undefined,
          }
        : await request.readFileForm(page.file, arrived.signedIn && uploadAccountOf(arrived.signedIn));
    // The session may have ended, or the role changed, while the form arrived.
    const signedIn = secret === undefined ? undefined : await this.#session(secret);
    const admitted = { ...arrived, signedIn };
    const hasToken = page.withoutToken || [secret, visitor].some(own => isFormToken(form.get('token'), own));
    if (!hasToken && !request.tls && !isLocalhost(request)) {
      throw new Problem('invalid_form', 403, COOKIES_NEED_HTTPS);
    }
    // Browsers send the site of a form. Scripts and programs get an error.
    const isFromBrowser = prefersHtml(request.header('accept')) && namesSite(request);
    if (!hasToken && !isFromBrowser) throw new Problem('invalid_form', 403, FORM_OUT_OF_DATE);
    // Without entries to preserve, the visitor only needs to sign in.
    const hasEntries = Array.from(form.keys()).some(name => name !== 'token');
    const isSignedOut = page.access !== 'everyone' && signedIn === undefined && hasEntries;
    if (!hasToken || (isSignedOut && isFromBrowser)) {
      return this.#respond({ ...page, access: 'everyone' }, admitted, form, visit => staleFormView(visit, page));
    }
    return this.#respond(page, admitted, form, visit =>
      submitAgain(page, file === undefined ? visit : { ...visit, file }),
    );
  }

  /**
   * Identifies the client, and counts the page: by account if an account is signed in, otherwise by network.
   * @throws {Problem} `too_many_pages`
   */
  async #admit(request: WebPageRequest): Promise<Admitted> {
    const names = cookieNames(request.publicUrl);
    const cookie = request.header('cookie');
    const secret = cookieOf(cookie, names.session);
    const signedIn = secret === undefined ? undefined : await this.#session(secret);
    const client = signedIn === undefined ? countedAddress(request.address) : `account ${signedIn.account.id}`;
    this.#site.pageLimiter.count(client);
    return { request, names, client, secret, signedIn, visitor: cookieOf(cookie, names.visitor) };
  }

  /** Checks whether the visitor may open the page, and writes its result. */
  async #respond(
    page: WebPage,
    admitted: Admitted,
    form: URLSearchParams,
    handle: (visit: Visit) => PageResult | undefined | Promise<PageResult | undefined>,
  ): Promise<PageContent | undefined> {
    const { request, names, client, secret, signedIn } = admitted;
    const cookies = secret !== undefined && signedIn === undefined ? [clearCookie(names.session)] : [];
    const tokenField = this.#tokenField(admitted, cookies);
    const refused = refusalOf(page, request, signedIn, form === noForm ? 'show' : 'submit');
    const markdownUrl = (href: string) => (href.startsWith('/') ? request.publicUrl + this.#twinLink(href) : href);
    const countPage = () => this.#site.pageLimiter.add(client);
    const deps = { site: this.#site, deployment: this.#deployment, countPage, tokenField, markdownUrl };
    const visit = accountVisitOf({ ...deps, request, signedIn, form, isReadOnly: isReadOnly(page, signedIn) });
    const result = refused ?? (await handle(visit));
    if (result === undefined) return undefined;
    if ('location' in result) return this.#redirect(request, result.location, [...cookies, ...(result.cookies ?? [])]);
    if ('bytes' in result) return download(result);
    const title = result.title ?? page.title;
    const frame = {
      ...this.#frame(request.tls),
      signedIn,
      page,
      markdown: page.markdown && twinPath(pathWith(page, request.parameters)) + request.search,
      tokenField: signedIn && tokenField(),
    };
    const text = document({ ...result, title }, frame);
    return this.#content(request.publicUrl, text, {
      status: result.status ?? (errorSummary(result.errors) === undefined ? 200 : 422),
      locates: result.locates === true,
      compressible: page.showsSecret !== true && this.#site.isUpgraded(),
      cookies: [...cookies, ...(result.cookies ?? [])],
    });
  }

  /** Returns the function for the hidden field of forms. All forms of a page have the token of one secret. */
  #tokenField({ names, secret, signedIn, visitor }: Admitted, cookies: string[]): () => Html {
    let own = (signedIn && secret) ?? visitor;
    return () => {
      if (own === undefined) {
        own = newSecret();
        cookies.push(setCookie(names.visitor, own));
      }
      return html`<input type="hidden" name="token" value="${this.#site.isUpgraded() ? maskedTokenOf(own) : formTokenOf(own)}">`;
    };
  }

  async #session(secret: string): Promise<SignedIn | undefined> {
    if (this.#deployment.name !== this.#site.portal) return undefined;
    const now = nowOf(this.#site);
    const signedIn = await findSession(this.#site.accounts, secret, now);
    // Recording the time of the latest request may fail; the page is more important.
    if (signedIn !== undefined) recordSeen(this.#site.accounts, signedIn.session, now).catch(() => {});
    return signedIn;
  }

  #frame(tls: boolean) {
    const { portal } = this.#site;
    return { pages: this.#menuPages, portal, deployment: this.#deployment.name, urls: this.#urls(tls) };
  }

  #urls(tls: boolean): SiteUrls {
    const names: DeploymentName[] = ['production', 'staging'];
    const urls = names.map(name => [name, this.#site.urlOf(name, tls)] as const);
    return Object.fromEntries(urls.filter(([, url]) => url !== undefined));
  }

  #toPortal({ path, search, tls }: WebPageRequest): PageContent | undefined {
    const portal = this.#site.urlOf(this.#site.portal, tls);
    return portal === undefined ? undefined : redirect(portal + path + search, []);
  }

  #redirect({ publicUrl }: WebPageRequest, location: string, cookies: readonly string[]): PageContent {
    return redirect(rootOf(publicUrl) + location, cookies);
  }

  #content(
    publicUrl: string,
    text: string,
    { status, locates, compressible = false, cookies = [] }: ContentOptions,
  ): PageContent {
    const tls = publicUrl.startsWith('https:');
    const called = (['staging', 'messages'] as const).map(name => this.#site.urlOf(name, tls));
    return {
      status,
      contentType: 'text/html; charset=utf-8',
      bytes: withRoot(text, rootOf(publicUrl)),
      compressible,
      headers: [...securityHeaders(called, locates), ...cookies.flatMap(cookie => ['Set-Cookie', cookie])],
    };
  }
}

function uploadAccountOf({ account }: SignedIn) {
  return { accountId: account.id, plan: account.plan };
}

async function compressed(content: PageContent | undefined): Promise<PageContent | undefined> {
  if (content === undefined || content.status !== 200) return content;
  const bytes = Buffer.from(content.bytes);
  const etag = contentEtag(bytes, []);
  return { ...content, bytes, etag, cacheControl: 'private, no-cache', compressed: await compress(bytes) };
}

function redirect(location: string, cookies: readonly string[]): PageContent {
  const headers = ['Location', location, ...cookies.flatMap(cookie => ['Set-Cookie', cookie])];
  return { status: 303, contentType: 'text/plain; charset=utf-8', bytes: '', headers };
}

function download({
  status = 200,
  contentType,
  bytes,
  parts,
  fileName,
  maxAge,
}: Extract<PageResult, { bytes: unknown }>): PageContent {
  const headers = fileName === undefined ? [] : ['Content-Disposition', `attachment; filename="${fileName}"`];
  const kept = maxAge !== undefined && { cacheControl: `public, max-age=${maxAge}` };
  return { status, contentType, bytes, headers, ...(parts && { parts }), ...kept };
}

/** Returns the path of a public URL without a trailing slash, as set by a proxy; '' if it has none. */
function rootOf(publicUrl: string): string {
  return new URL(publicUrl).pathname.replace(/\/$/, '');
}

/**
 * Prefixes the links of a page with the path of a proxy. Only templates contain `href="/`, because quotes in values are
 * escaped.
 */
function withRoot(text: string, root: string): string {
  if (root === '') return text;
  return text
    .replaceAll(/ (href|src|action|data-url)="\/(?!\/)/g, ` $1="${root}/`)
    .replaceAll(/ srcset="[^"]*"/g, sources => sources.replaceAll(/(?<=["\s])\//g, `${root}/`));
}

/**
 * The headers of every page (OWASP HTTP Headers Cheat Sheet). @param called the URLs that scripts may call besides
 * their own origin
 */
function securityHeaders(called: readonly (string | undefined)[], locates = false): string[] {
  const origins = ["'self'", ...called.filter(url => url !== undefined).map(url => new URL(url).origin)];
  const policy = [
    ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "font-src 'self'"],
    ...[`connect-src ${origins.join(' ')}`, "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"],
  ];
  return [
    ...['Content-Security-Policy', policy.join('; '), 'X-Frame-Options', 'DENY', 'Referrer-Policy', 'same-origin'],
    ...['Cross-Origin-Opener-Policy', 'same-origin', 'Cross-Origin-Resource-Policy', 'same-origin'],
    ...['Permissions-Policy', `camera=(), geolocation=(${locates ? 'self' : ''}), microphone=(), payment=(), usb=()`],
  ];
}
