import { type Html, html } from '../lib/html/html.ts';
import type { Account } from '../model/account.ts';
import type { Menu, WebPage } from './page.ts';

/** What the menus of a page depend on. */
export interface MenuContext {
  readonly pages: readonly WebPage[];
  /** The signed-in account. */
  readonly account: Account | undefined;
  /** The current page; absent on error pages. */
  readonly page?: WebPage | undefined;
  /** The hidden field for the form that signs out; present if an account is signed in. */
  readonly tokenField: Html | undefined;
}

/** Returns the links to the public pages. */
export function siteLinks(context: MenuContext): Html[] {
  const current = currentItem(context);
  return itemsOf(context, 'main').map(item => menuLink(item, current));
}

/** Reports whether the page shows the menu of the account beside its content, if the screen is wide enough. */
export function showsMenu({ account, page }: MenuContext): boolean {
  return account !== undefined && page !== undefined && page.access !== 'everyone';
}

/** Returns the path where the signed-in account begins. */
export function homeOf({ suspendedAt }: Account): string {
  return suspendedAt === undefined ? '/shelter' : '/account';
}

/** The button that opens the menu of the account where it is not beside the content. */
export const menuButton = html`<button type="button" class="secondary menu-button" popovertarget="menu">Menu</button>`;

/**
 * Returns the menu of the signed-in account: a column beside the pages of the account on a wide screen, otherwise a
 * popover, which browsers open and close without a script.
 */
export function accountMenu(context: MenuContext): Html | undefined {
  const { account, tokenField } = context;
  if (account === undefined) return undefined;
  const current = currentItem(context);
  return html`<nav class="menu" id="menu" popover aria-label="Menu">
<p class="menu-top"><bdi>${account.name}</bdi> <button type="button" class="plain" popovertarget="menu" popovertargetaction="hide">Close</button></p>
${list(itemsOf(context, 'desk'), current)}${groups.map(({ menu, title }) => groupView(title, menu, itemsOf(context, menu), current))}
<form method="post" action="/sign-out">${tokenField}<button class="plain">Sign out</button></form>
</nav>`;
}

/** The groups below the links of the desk. */
const groups: readonly { readonly menu: Menu; readonly title: string }[] = [
  { menu: 'developers', title: 'Developers' },
  { menu: 'account', title: 'Account' },
  { menu: 'operator', title: 'Operator' },
  { menu: 'main', title: 'Public pages' },
];

/** Returns a group that is open if the current page is in it. */
function groupView(title: string, menu: Menu, items: readonly WebPage[], current: WebPage | undefined) {
  if (items.length === 0) return undefined;
  return html`<details class="menu-${menu}"${current?.menu === menu && html` open`}><summary>${title}</summary>${list(items, current)}</details>
`;
}

function list(items: readonly WebPage[], current: WebPage | undefined): Html | undefined {
  if (items.length === 0) return undefined;
  return html`<ul>${items.map(
    item => html`<li${item.menuItem?.indented && html` class="indented"`}>${menuLink(item, current)}</li>\n`,
  )}</ul>`;
}

/** Returns the pages of a menu that the account can open. */
function itemsOf({ pages, account }: MenuContext, menu: Menu): WebPage[] {
  return pages.filter(
    page =>
      page.menu === menu &&
      (page.access !== 'admin' || account?.admin) &&
      (page.access === 'everyone' || account?.suspendedAt === undefined || page.whileSuspended),
  );
}

function menuLink(item: WebPage, current: WebPage | undefined): Html {
  const { path, title, menuItem } = item;
  const { text = title, key } = menuItem ?? {};
  return html`<a href="${path}"${item === current && html` aria-current="page"`}${
    key !== undefined && html` aria-keyshortcuts="${key}"`
  }>${text}</a>`;
}

/** Returns the item of a menu for the page: its own, that of its parent, or that of the nearest page above it. */
function currentItem({ pages, page }: MenuContext): WebPage | undefined {
  if (page === undefined) return undefined;
  const path = page.parent ?? page.path;
  const above = pages.filter(item => item.menu && (path === item.path || path.startsWith(`${item.path}/`)));
  return above.toSorted((one, other) => other.path.length - one.path.length)[0];
}
