import type { SignedIn } from '../access/sessions/session.ts';
import { type Html, html } from '../lib/html/html.ts';
import type { Account } from '../model/account.ts';
import { allows } from '../model/roles.ts';
import type { Menu, WebPage } from './page.ts';
import { HOME_PATH } from './paths.ts';

/** What the menus of a page depend on. */
export interface MenuContext {
  /** The pages of all menus, in their order. */
  readonly pages: readonly WebPage[];
  readonly signedIn: SignedIn | undefined;
  /** The current page; absent on error pages. */
  readonly page?: WebPage | undefined;
  /** The hidden field for the form that signs out; present if someone is signed in. */
  readonly tokenField: Html | undefined;
}

/** Returns the links to the public pages. */
export function siteLinks(context: MenuContext): Html[] {
  const current = currentItem(context);
  return itemsOf(context, 'main').map(item => menuLink(item, current));
}

/** Reports whether the page shows the menu of the account beside its content, if the screen is wide enough. */
export function showsMenu({ signedIn, page }: MenuContext): boolean {
  return signedIn !== undefined && page !== undefined && page.access !== 'everyone';
}

/** Returns the path where the members of an account begin. */
export function homeOf({ suspendedAt }: Account): string {
  return suspendedAt === undefined ? HOME_PATH : '/account';
}

/** The button that opens the menu of the account where it is not beside the content. */
export const menuButton = html`<button type="button" class="secondary menu-button" popovertarget="menu">Menu</button>`;

/**
 * Returns the menu of the signed-in person: a column beside the pages of the account on a wide screen, otherwise a
 * popover, which browsers open and close without a script.
 */
export function accountMenu(context: MenuContext, signedIn: SignedIn): Html {
  const { tokenField } = context;
  const current = currentItem(context);
  return html`<nav class="menu" id="menu" popover aria-label="Menu">
<p class="menu-top"><bdi>${signedIn.account.name}</bdi> <button type="button" class="plain" popovertarget="menu" popovertargetaction="hide">Close</button></p>
${switchView(signedIn, tokenField)}${list(itemsOf(context, 'desk'), current)}${groups.map(({ menu, title }) => groupView(title, menu, itemsOf(context, menu), current))}
<form method="post" action="/sign-out">${tokenField}<button class="plain">Sign out</button></form>
</nav>`;
}

/** Returns the buttons for the other accounts of the person; `undefined` if there are none. */
function switchView({ account, memberships }: SignedIn, tokenField: Html | undefined): Html | undefined {
  const others = memberships.filter(membership => membership.account.id !== account.id);
  if (others.length === 0) return undefined;
  return html`<details class="menu-switch"><summary>Switch the account</summary><form method="post" action="/account/switch">${tokenField}<ul>${others.map(
    ({ account: { id, name } }) =>
      html`<li><button class="plain" name="account" value="${id}"><bdi>${name}</bdi></button></li>`,
  )}</ul></form></details>
`;
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

/** Returns the pages of a menu that the person can open. */
function itemsOf({ pages, signedIn }: MenuContext, menu: Menu): WebPage[] {
  return pages.filter(page => page.menu === menu && (page.access === 'everyone' || isOpenTo(page, signedIn)));
}

function isOpenTo({ access, permission, shownFor, whileSuspended }: WebPage, signedIn: SignedIn | undefined): boolean {
  if (signedIn === undefined) return false;
  const { account, role } = signedIn;
  if (access === 'admin' && !account.admin) return false;
  if (account.suspendedAt !== undefined && !whileSuspended) return false;
  return allows(role, shownFor ?? permission!);
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
