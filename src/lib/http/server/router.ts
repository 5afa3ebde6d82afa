import createRouter, { type HTTPMethod } from 'find-my-way';
import type { Route } from '../route.ts';
import type { PageRoute } from './pages.ts';
import type { ViewMount } from './view.ts';

interface Target<R> {
  readonly route?: R | undefined;
  readonly page?: PageRoute | undefined;
  readonly view?: ViewMount | undefined;
}

/** The route, page or view at a path, if any, with the decoded path parameters. */
export interface Found<R> extends Target<R> {
  /** Whether the percent-encoding of the path is broken. */
  readonly isMalformed: boolean;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Finds routes and pages by method and path. Paths may end with a slash, and may be percent-encoded. */
export class Router<R extends { readonly route: Pick<Route<never>, 'method' | 'path'> }> {
  readonly #prefix: string;
  readonly #views: readonly ViewMount[];
  readonly #router = createRouter({
    ignoreTrailingSlash: true,
    // Header size is limited already.
    maxParamLength: Number.POSITIVE_INFINITY,
    onBadUrl: ignore,
  });

  constructor(
    prefix: string,
    routes: readonly R[],
    pages: readonly PageRoute[] = [],
    views: readonly ViewMount[] = [],
  ) {
    this.#prefix = prefix;
    this.#views = views;
    for (const route of routes) this.#add(route.route.method, prefix + route.route.path, { route });
    this.addPages(pages);
  }

  addPages(pages: readonly PageRoute[]): void {
    for (const page of pages) this.#add(page.method, page.path, { page });
  }

  #add(method: Route<never>['method'], path: string, target: Target<R>): void {
    const methods: HTTPMethod[] = method === 'GET' ? ['GET', 'HEAD'] : [method];
    this.#router.on(methods, path.replace(/\{(\w+)\}/g, ':$1'), ignore, target);
  }

  find(method: string, path: string): Found<R> {
    const found = this.#router.find(method as 'GET', path);
    if (found === null) return this.#findView(path);
    const target = found.store as Target<R> | null;
    return {
      route: target?.route,
      page: target?.page,
      isMalformed: target === null,
      parameters: found.params as Found<R>['parameters'],
    };
  }

  #findView(path: string): Found<never> {
    const view = this.#views.find(({ prefix }) => isBelow(prefix, path));
    return view === undefined ? nothing : { ...nothing, view };
  }

  methodsOf(path: string): string[] {
    return methods.filter(method => this.find(method, path).route !== undefined);
  }

  pageMethodsOf(path: string): string[] {
    return methods.filter(method => this.find(method, path).page !== undefined);
  }

  /** Returns the path, with parameters in braces, of the operation that the prefix plus this path leads to. */
  pathInApi(path: string): string | undefined {
    const [method] = this.methodsOf(this.#prefix + path);
    return method && this.#prefix + this.find(method, this.#prefix + path).route!.route.path;
  }

  /**
   * Reports whether a path without a route belongs to the API. With an empty prefix, all paths except those of pages
   * do.
   */
  isInApi(path: string): boolean {
    if (this.#prefix === '') return this.find('GET', path).page === undefined;
    return isBelow(this.#prefix, decodePath(path));
  }
}

const nothing: Found<never> = { isMalformed: false, parameters: {} };

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** The handler of every path, which is never called: the server only looks up routes. */
function ignore(): void {}

function isBelow(prefix: string, path: string): boolean {
  return path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === '/');
}

function decodePath(path: string): string {
  try {
    return decodeURI(path.split('#', 1)[0]!);
  } catch {
    return path;
  }
}
