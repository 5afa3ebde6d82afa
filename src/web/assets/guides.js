// Puts the reader's key into the examples of a guide, only in this page and until it is reloaded.

const form = document.querySelector('form.use-key');
const result = document.querySelector('.use-key-result');

form?.addEventListener('submit', async event => {
  event.preventDefault();
  const button = form.querySelector('button');
  button.disabled = true;
  result.textContent = '';
  try {
    const key = await createKey();
    if (key === undefined) return form.submit();
    for (const place of document.querySelectorAll('pre .key')) place.textContent = key;
    form.remove();
    result.textContent = 'The examples have a new staging key of yours. It is valid for an hour.';
  } catch (error) {
    result.textContent = error.message;
    button.disabled = false;
  }
});

/** Returns a new key; nothing if the service shows a page that asks for the second factor or the password first. */
async function createKey() {
  const response = await fetch(form.action, {
    method: 'POST',
    headers: { Accept: 'application/json' },
    body: new URLSearchParams(new FormData(form)),
    redirect: 'manual',
  }).catch(() => {
    throw new Error('The service cannot be reached. Try again.');
  });
  if (response.type === 'opaqueredirect') throw new Error('You are signed out. Reload the page and sign in.');
  if (response.headers.get('Content-Type').startsWith('text/html')) return;
  const body = await response.json();
  if (!response.ok) throw new Error(body.message);
  return body.key;
}
