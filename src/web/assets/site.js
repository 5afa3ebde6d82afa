// Adds the parts of every page that need a script: the search key, copy buttons, forms that a double click sends only
// once, and the focus on form errors where browsers ignore `autofocus`.

document.querySelector('.errors')?.focus();

document.addEventListener('keydown', event => {
  const { target } = event;
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
  if (target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]')) return;
  // Prefer the search field of the page to that of the site, which can be hidden on a phone.
  const searches = ['main input[type="search"]', 'input[type="search"]'].map(one => document.querySelector(one));
  const search = searches.find(one => one?.checkVisibility());
  if (search === undefined) return;
  event.preventDefault();
  search.focus();
});

const DOUBLE_CLICK_MS = 1000;
const sentAt = new WeakMap();
document.addEventListener('submit', event => {
  const { target: form, timeStamp } = event;
  if (event.defaultPrevented || form.getAttribute('method') !== 'post') return;
  if (timeStamp - sentAt.get(form) < DOUBLE_CLICK_MS) event.preventDefault();
  else sentAt.set(form, timeStamp);
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
