// Shows the small form of an animal below its row, and replaces the row when it is saved.

document.querySelector('table.cards')?.addEventListener('click', event => {
  const link = event.target.closest('a[data-edit]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  open(link);
});

/** Opens the form of a link, or closes it. If the form does not arrive, the link is followed. */
async function open(link) {
  const row = link.closest('tr');
  if (row.nextElementSibling?.className === 'editing') return close(row.nextElementSibling, link);
  const page = await load(link.href);
  if (!page?.querySelector('main form')) return location.assign(link.href);
  const editing = document.createElement('tr');
  editing.className = 'editing';
  const cell = editing.insertCell();
  cell.colSpan = row.cells.length;
  const frame = document.createElement('div');
  frame.setAttribute('role', 'group');
  frame.setAttribute('aria-label', page.querySelector('h1').textContent);
  cell.append(frame);
  row.after(editing);
  show(frame, page, link);
  editing.addEventListener('keydown', event => event.key === 'Escape' && close(editing, link));
  frame.addEventListener('submit', event => {
    event.preventDefault();
    save(frame, event.target, link);
  });
}

function close(editing, link) {
  editing.remove();
  link.focus();
}

/** Shows the form of a page with its errors, and moves the focus there. */
function show(frame, page, link) {
  const form = page.querySelector('main form');
  const errors = page.querySelector('main .errors');
  // The list has fields with the same names.
  for (const element of [form, errors]) prefixIds(element, `edit-${link.dataset.edit}-`);
  const cancel = document.createElement('button');
  cancel.type = 'button';
  cancel.className = 'secondary';
  cancel.textContent = 'Cancel';
  cancel.addEventListener('click', () => close(frame.closest('tr'), link));
  const buttons = document.createElement('div');
  buttons.className = 'buttons';
  buttons.append(form.querySelector('button'), cancel);
  form.append(buttons);
  frame.replaceChildren(...[errors, form].filter(Boolean));
  (errors ?? form.querySelector('select')).focus();
}

function prefixIds(element, prefix) {
  for (const name of ['id', 'for', 'aria-describedby']) {
    for (const one of element?.querySelectorAll(`[${name}]`) ?? []) {
      const ids = one.getAttribute(name).split(' ');
      one.setAttribute(name, ids.map(id => prefix + id).join(' '));
    }
  }
  for (const link of element?.querySelectorAll('a[href^="#"]') ?? []) link.hash = prefix + link.hash.slice(1);
}

/** Sends the form, and replaces the row by that of the list as it is now. */
async function save(frame, form, link) {
  const page = await load(form.action, { method: 'POST', body: new URLSearchParams(new FormData(form)) });
  if (!page) return form.submit();
  if (page.querySelector('main form [name="etag"]')) return show(frame, page, link);
  const [changed, row] = [rowIn(page, link), link.closest('tr')];
  frame.closest('tr').remove();
  // With other values, the animal may not match the filters any more.
  if (changed) row.replaceWith(changed);
  else row.remove();
  document.querySelector('main .notice')?.remove();
  document.querySelector('h1').after(...page.querySelectorAll('main .notice'));
  (changed?.querySelector('a[data-edit]') ?? document.querySelector('#q')).focus({ preventScroll: true });
}

function rowIn(page, { dataset }) {
  return page.querySelector(`#animal-${dataset.edit}`)?.closest('tr');
}

/** Returns the page at an address; `undefined` if it does not arrive. */
async function load(address, options) {
  const response = await fetch(address, { ...options, headers: { Accept: 'text/html' } }).catch(() => undefined);
  const isPage = response?.status < 500 && response.headers.get('content-type')?.startsWith('text/html');
  return isPage ? new DOMParser().parseFromString(await response.text(), 'text/html') : undefined;
}
