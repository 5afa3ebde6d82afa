// Filters the operations of a page while the reader types, and lets arrow keys move between them.

const form = document.querySelector('[data-filter]');
const input = form?.querySelector('input');
const count = form?.querySelector('[data-count]');
const items = [...document.querySelectorAll('.ref-side [data-text], .ref-list [data-text]')];
const groups = [...document.querySelectorAll('.ref-side .group, .ref-list .group')];

const shown = () => items.filter(item => !item.hidden);

function filter() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const item of items) item.hidden = !words.every(word => item.dataset.text.includes(word));
  for (const group of groups) group.hidden = group.querySelector('[data-text]:not([hidden])') === null;
  const { length } = shown();
  count.textContent = words.length === 0 ? '' : length === 1 ? '1 operation' : `${length} operations`;
}

if (input) {
  input.addEventListener('input', filter);
  form.addEventListener('submit', event => {
    const [first] = shown();
    if (first === undefined || input.value.trim() === '') return;
    event.preventDefault();
    first.querySelector('a').click();
  });
  form.parentElement.addEventListener('keydown', event => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    const links = shown().map(item => item.querySelector('a'));
    const at = links.indexOf(document.activeElement);
    if (at < 0 && document.activeElement !== input) return;
    event.preventDefault();
    const next = at + (event.key === 'ArrowDown' ? 1 : -1);
    (next < 0 ? input : links[Math.min(next, links.length - 1)])?.focus();
  });
  // After going back, a browser restores the text without an event.
  if (input.value !== '') filter();
}

// Scroll the current operation of the menu into view without moving the page.
const side = document.querySelector('.ref-side nav');
const current = side?.querySelector('[aria-current]');
if (current) side.scrollTop = current.offsetTop - side.offsetTop - side.clientHeight / 2;

// A choice of language applies to all examples of the page.
document.addEventListener('change', ({ target }) => {
  if (!target.name?.startsWith('language-')) return;
  for (const other of document.querySelectorAll(`.tabs input[value="${target.value}"]`)) other.checked = true;
});

// A link to a member opens the elements that contain it.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = target?.parentElement; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;
  target?.scrollIntoView();
}
addEventListener('hashchange', reveal);
if (location.hash !== '') reveal();
