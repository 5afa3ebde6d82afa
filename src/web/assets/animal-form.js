// Suggests the breeds and colors of the chosen kind of animal.

const kind = document.querySelector('.animal-form [name="categoryId"]');

kind?.addEventListener('change', async () => {
  const chosen = kind.value;
  const address = new URL('new', kind.form.action);
  address.searchParams.set('kind', chosen);
  const response = await fetch(address).catch(() => undefined);
  if (!response?.ok || kind.value !== chosen) return;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  for (const id of ['known-breeds', 'known-colors']) {
    document.getElementById(id).replaceChildren(...page.getElementById(id).children);
  }
});
