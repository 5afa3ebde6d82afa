// Uploads several chosen or dropped photos to the animal or the organization of the page, and those that were chosen
// before the animal was saved.

import { onDrop, photoPickers, UploadQueue } from './upload-queue.js';
import { deletePhoto, photosFor } from './waiting-photos.js';

async function enhance(form) {
  const input = form.querySelector('input[type="file"]');
  const queue = new UploadQueue({
    action: form.action,
    token: form.elements.token.value,
    bytesMax: Number(form.dataset.bytesMax),
    place: form,
    added: renew,
    ended: showNew,
  });
  const pickers = photoPickers('Choose photos', input.accept, files => queue.add(files));
  form.querySelector('label').replaceWith('Choose photos, or drop them here.');
  form.querySelector('button').remove();
  input.replaceWith(pickers);
  form.classList.add('drop');
  onDrop(form, files => queue.add(files));

  const person = document.querySelector('[data-entries-of]')?.dataset.entriesOf;
  const isSaved = new URLSearchParams(location.search).has('saved');
  if (person === undefined) return;
  for (const { id, file } of await photosFor(person, form.action, isSaved)) queue.add([file], () => deletePhoto(id));
}

/** Updates the entity tag in the forms of the page, if only the photo has changed since they were loaded. */
function renew({ previousEtag, etag }) {
  for (const input of document.querySelectorAll('input[name="etag"]')) {
    if (input.value === previousEtag) input.value = etag;
  }
}

/** Adds the new photos from the current page. Entries on this page stay. */
async function showNew() {
  const response = await fetch(location.pathname).catch(() => undefined);
  if (!response?.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  const gallery = document.querySelector('#photos .gallery');
  const known = new Set([...gallery.children].map(({ dataset }) => dataset.photo));
  for (const item of page.querySelectorAll('#photos .gallery > li')) {
    if (!known.has(item.dataset.photo)) gallery.append(document.adoptNode(item));
  }
}

const form = document.querySelector('#add-photos');
if (form) enhance(form);
