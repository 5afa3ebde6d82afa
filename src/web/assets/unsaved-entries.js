// Keeps what is entered in a form but not saved, for a day: in the browser, under the id of the person and the path of
// the form. Warns before leaving the page. `site.js` deletes the entries after saving and at sign-out.

const DAY_MS = 86_400_000;
const PREFIX = 'entries:';
const LEAVE = 'Leave this page without saving? Your entries stay on this device for a day.';

function enhance(form) {
  const key = `${PREFIX}${form.dataset.entriesOf}:${new URL(form.action).pathname}`;
  const kept = read(key);
  const entries = kept?.entries ?? {};
  const original = new Map(
    [...new Set(controlsOf(form).map(({ name }) => name))].map(name => [name, entryOf(form, name)]),
  );
  let isLeaving = false;
  const hasUnsaved = () => !isLeaving && ('unsaved' in form.dataset || Object.keys(entries).length > 0);

  const restored = Object.entries(entries).filter(
    ([name, value]) => original.has(name) && original.get(name) !== value,
  );
  for (const [name, value] of restored) setValue(form, name, value);
  // A form that was saved, without a response, is recognized when it is sent again.
  if (restored.length > 0 && kept.once) form.elements['form-key'].value = kept.once;
  if (restored.length > 0) document.querySelector('h1').after(restoredNotice(kept, form, discard));
  else if (!('unsaved' in form.dataset)) for (const name of Object.keys(entries)) delete entries[name];

  form.addEventListener('input', ({ target: { name } }) => {
    if (!original.has(name)) return;
    const value = entryOf(form, name);
    if (value === original.get(name) && !('unsaved' in form.dataset)) delete entries[name];
    else entries[name] = value;
    write(key, form, entries);
  });
  form.addEventListener('submit', event => {
    if (event.defaultPrevented) return;
    isLeaving = true;
    store('sessionStorage', 'sent-entries', key);
  });
  addEventListener('pageshow', () => {
    isLeaving = false;
  });
  addEventListener('beforeunload', event => hasUnsaved() && event.preventDefault());
  // Phones ignore `beforeunload`.
  document.addEventListener('click', event => {
    const link = event.target.closest?.('a[href]');
    if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const isHere = link.hash !== '' && link.pathname === location.pathname && link.search === location.search;
    if (isHere || link.target || !hasUnsaved()) return;
    if (confirm(LEAVE)) isLeaving = true;
    else event.preventDefault();
  });

  function discard() {
    form.reset();
    for (const name of Object.keys(entries)) delete entries[name];
    write(key, form, entries);
    form.dispatchEvent(new Event('entries-discarded'));
    form.querySelector('input:not([type="hidden"]), select').focus();
  }
}

function controlsOf(form) {
  return [...form.elements].filter(({ name, type }) => name && !['hidden', 'submit', 'file'].includes(type));
}

function entryOf(form, name) {
  const controls = controlsOf(form).filter(control => control.name === name);
  if (controls[0].type === 'checkbox') return controls[0].checked;
  return controls[0].type === 'radio' ? (controls.find(({ checked }) => checked)?.value ?? '') : controls[0].value;
}

function setValue(form, name, value) {
  const controls = controlsOf(form).filter(control => control.name === name);
  if (controls[0].type === 'radio' && !controls.some(control => control.value === value)) return;
  for (const control of controls) {
    if (control.type === 'checkbox') control.checked = value === true;
    else if (control.type === 'radio') control.checked = control.value === value;
    else control.value = value;
    // Suggestions follow the kind.
    control.dispatchEvent(new Event('change', { bubbles: true }));
  }
}

function restoredNotice({ at, etag }, form, discard) {
  const notice = document.createElement('div');
  const text = document.createElement('p');
  const button = document.createElement('button');
  notice.className = 'notice restored';
  notice.setAttribute('role', 'status');
  const minutes = Math.round((Date.now() - at) / 60_000);
  const time = minutes < 60 ? [-minutes, 'minute'] : [-Math.round(minutes / 60), 'hour'];
  const ago = new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(...time);
  text.textContent = `Your entries${minutes < 1 ? '' : ` from ${ago}`} are here again. They are not saved yet.${
    etag === form.elements.etag?.value ? '' : ' Someone else has saved this animal since.'
  }`;
  button.type = 'button';
  button.className = 'secondary';
  button.textContent = 'Discard them';
  button.addEventListener('click', () => {
    notice.remove();
    discard();
  });
  notice.append(text, button);
  return notice;
}

/** Returns the entries of a key that are not older than a day. Deletes all that are, and those that nobody can read. */
function read(wanted) {
  const local = storageOf('localStorage');
  let found;
  for (const key of Object.keys(local ?? {}).filter(key => key.startsWith(PREFIX))) {
    const kept = parsed(local.getItem(key));
    if (!(Date.now() - kept?.at < DAY_MS)) local.removeItem(key);
    else if (key === wanted) found = kept;
  }
  return found;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function write(key, form, entries) {
  if (Object.keys(entries).length === 0) storageOf('localStorage')?.removeItem(key);
  else
    store(
      'localStorage',
      key,
      JSON.stringify({
        ...{ at: Date.now(), etag: form.elements.etag?.value, once: form.elements['form-key']?.value, entries },
      }),
    );
}

function store(storage, key, text) {
  try {
    storageOf(storage)?.setItem(key, text);
  } catch {
    // The storage is full. The entries stay in the form.
  }
}

/** Returns a storage, unless the browser does not allow it. */
function storageOf(name) {
  try {
    return globalThis[name];
  } catch {
    return undefined;
  }
}

for (const form of document.querySelectorAll('form[data-entries-of]')) enhance(form);
