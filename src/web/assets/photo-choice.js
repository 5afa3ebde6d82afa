// Takes photos while an animal is added. They wait in the browser until it is saved; the next page uploads them.

import { onDrop, photoPickers, UploadQueue } from './upload-queue.js';
import { deletePhoto, keepPhoto, photosFor, rememberSent, waitingPhotos } from './waiting-photos.js';

async function enhance(place, form) {
  const { bytesMax, photosMax, types, url } = place.dataset;
  const person = form.dataset.entriesOf;
  const list = document.createElement('ul');
  const status = document.createElement('p');
  list.className = 'chosen-photos';
  status.setAttribute('role', 'status');
  place.classList.add('drop');
  let adding = Promise.resolve();
  const add = files => {
    adding = adding.then(() => addAll(files));
  };
  place.replaceChildren('Choose photos, or drop them here.', photoPickers('Choose photos', types, add), status, list);
  onDrop(place, add);
  form.addEventListener('submit', event => {
    if (!event.defaultPrevented) rememberSent([...list.children].map(({ dataset }) => Number(dataset.id)));
  });
  form.addEventListener('entries-discarded', () => {
    for (const item of list.children) deletePhoto(Number(item.dataset.id));
    list.replaceChildren();
    status.textContent = '';
  });
  if (url !== undefined) await uploadSent(new URL(url, location).href);
  for (const photo of await waitingPhotos(person)) show(photo);

  /** Uploads the photos of the animal that was saved before. */
  async function uploadSent(action) {
    const photos = await photosFor(person, action, true);
    if (photos.length === 0) return;
    const token = form.elements.token.value;
    const queue = new UploadQueue({
      action,
      token,
      bytesMax: Number(bytesMax),
      place: document.querySelector('.notice'),
    });
    for (const { id, file } of photos) queue.add([file], () => deletePhoto(id));
  }

  async function addAll(files) {
    const errors = [];
    for (const file of files) {
      const error = errorOf(file) ?? (await keep(file));
      if (error !== undefined) errors.push(`${file.name}: ${error}`);
    }
    status.className = errors.length > 0 ? 'error' : '';
    status.textContent = errors.join(' ') || `Photos chosen: ${list.children.length}. They are uploaded when you save.`;
  }

  function errorOf({ size }) {
    if (size > Number(bytesMax)) return `The file is larger than ${Number(bytesMax) / 1024 / 1024} MiB.`;
    return list.children.length >= Number(photosMax) ? `An animal has up to ${photosMax} photos.` : undefined;
  }

  async function keep(file) {
    const id = await keepPhoto(person, file);
    if (id === undefined) return 'This browser keeps no photos. Save first, then add them.';
    show({ id, file });
    return undefined;
  }

  function show({ id, file }) {
    const item = document.createElement('li');
    const canvas = document.createElement('canvas');
    const name = document.createElement('span');
    const remove = document.createElement('button');
    item.dataset.id = id;
    name.textContent = file.name;
    remove.type = 'button';
    remove.className = 'secondary';
    remove.textContent = 'Remove';
    remove.setAttribute('aria-label', `Remove ${file.name}`);
    remove.addEventListener('click', async () => {
      await deletePhoto(id);
      item.remove();
    });
    item.append(canvas, name, remove);
    list.append(item);
    draw(file, canvas);
  }
}

/** Draws a small picture of a photo. The policy of the page allows no image from a file. */
async function draw(file, canvas) {
  const image = await createImageBitmap(file, { resizeWidth: 320, resizeQuality: 'low' }).catch(() => undefined);
  if (image === undefined) return;
  Object.assign(canvas, { width: image.width, height: image.height });
  canvas.getContext('2d').drawImage(image, 0, 0);
  image.close();
}

const place = document.querySelector('#choose-photos');
if (place) enhance(place, document.querySelector('.animal-form'));
