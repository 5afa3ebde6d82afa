// Adds the parts of every page that need a script: keys, copy buttons, forms that a double click sends only
// once, the focus on form errors where browsers ignore `autofocus`, and the end of unsaved entries; see
// `unsaved-entries.js`.

document.querySelector('.errors')?.focus();

document.addEventListener('keydown', event => {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTyping(target)) return;
  const found = key === '/' ? searchField() : (rowBeside(key) ?? shortcutOf(key));
  if (found === undefined) return;
  event.preventDefault();
  if (found.matches('[aria-keyshortcuts]:any-link')) found.click();
  else found.focus();
});

function isTyping(target) {
  const field = 'input:not([type="checkbox"], [type="radio"]), textarea, select, [contenteditable]';
  return target instanceof HTMLElement && target.closest(field) !== null;
}

/** Returns the search field of the page, or else that of the site, which can be hidden on a phone. */
function searchField() {
  const searches = ['main input[type="search"]', 'input[type="search"]'].map(one => document.querySelector(one));
  return searches.find(one => one?.checkVisibility());
}

/**
 * Returns the link of the row before or after the row with the focus; if nothing has it, that of the first row. Lists
 * whose rows the arrow keys walk have the attribute `data-rows`.
 */
function rowBeside(key) {
  const step = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (step === undefined) return undefined;
  const links = [...document.querySelectorAll('.desk [data-rows] > *')].flatMap(row => row.querySelector('a') ?? []);
  const rowOf = element => element.closest('[data-rows] > *');
  const { activeElement } = document;
  if (activeElement === document.body) return step > 0 ? links[0] : undefined;
  const index = links.findIndex(link => rowOf(link) === rowOf(activeElement));
  return index < 0 ? undefined : links[index + step];
}

/** Returns the link of the menu that a key opens, on pages of the account. */
function shortcutOf(key) {
  return document.querySelector(`.desk .menu [aria-keyshortcuts="${CSS.escape(key)}"]`) ?? undefined;
}

const DOUBLE_CLICK_MS = 1000;
const sentAt = new WeakMap();
document.addEventListener('submit', event => {
  const { target: form, timeStamp } = event;
  if (event.defaultPrevented || form.getAttribute('method') !== 'post') return;
  if (timeStamp - sentAt.get(form) < DOUBLE_CLICK_MS) event.preventDefault();
  else sentAt.set(form, timeStamp);
});

const ENTRIES = 'entries:';
try {
  const sent = sessionStorage.getItem('sent-entries');
  sessionStorage.removeItem('sent-entries');
  if (sent?.startsWith(ENTRIES) && new URLSearchParams(location.search).has('saved')) localStorage.removeItem(sent);
} catch {
  // The browser stores nothing.
}

document.querySelector('form[action$="/sign-out"]')?.addEventListener('submit', () => {
  indexedDB.deleteDatabase('waiting-photos');
  sessionStorage.clear();
  for (const key of Object.keys(localStorage)) if (key.startsWith(ENTRIES)) localStorage.removeItem(key);
});

for (const block of document.querySelectorAll('pre.copy')) {
  // Insert the frame in place of the block before moving the block into it.
  const marker = document.createComment('');
  block.replaceWith(marker);
  marker.replaceWith(addCopyButton(block));
}

/** Puts a block of code into a frame with a button that copies it, and returns the frame. */
export function addCopyButton(block) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(block.querySelector('code').textContent);
      button.textContent = 'Copied';
    } catch {
      // Only secure pages can write to the clipboard: select the text instead.
      getSelection().selectAllChildren(block.querySelector('code'));
      button.textContent = 'Selected';
    }
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
  const frame = document.createElement('div');
  frame.className = 'copyable';
  frame.append(block, button);
  return frame;
}
