import { problem } from '../../errors.ts';
import { etagOf } from '../../lib/etag.ts';
import { type Html, html } from '../../lib/html/html.ts';
import { Problem } from '../../lib/http/problem.ts';
import { prefersHtml } from '../../lib/http/server/accept.ts';
import { BodyReader } from '../../lib/http/server/validation.ts';
import { PHOTO_BYTES_MAX, PHOTO_PIXELS_MAX, PHOTOS_MAX, PhotoPatch, photoTypes } from '../../photos/photo.ts';
import { deletePhoto, updatePhoto } from '../../photos/photos.ts';
import { addReceived, receivePhoto } from '../../photos/receive.ts';
import { form, notice } from '../../web/forms.ts';
import { idOf } from '../../web/lists.ts';
import { type AccountVisit, accountPage, type View } from '../../web/page.ts';
import type { FullPet } from '../pet.ts';
import { photoView } from './parts.ts';
import { checkOf } from './pet-form.ts';

/** Adds a photo to an animal of the account. Scripts get JSON, with the entity tags of the animal before and after. */
export const addPhotoPage = accountPage({
  path: '/shelter/animals/{petId}/photos',
  title: 'Add a photo',
  fileBytesMax: PHOTO_BYTES_MAX,
  async submit(visit) {
    const petId = idOf(visit.parameters['petId']);
    if (petId === undefined) return undefined;
    const isScript = !prefersHtml(visit.request.header('accept'));
    try {
      const etags = await addPhoto(visit, petId);
      if (!isScript) return { location: photosOfPath(petId) };
      return { contentType: 'application/json', bytes: JSON.stringify(etags) };
    } catch (error) {
      return refusal(error, petId, isScript);
    }
  },
});

/** Changes the text or the place of a photo of an animal of the account, or deletes it. */
export const ownPhotoPage = accountPage({
  path: '/shelter/animals/{petId}/photos/{photoId}',
  title: 'Change a photo',
  async submit(visit) {
    const petId = idOf(visit.parameters['petId']);
    if (petId === undefined) return undefined;
    try {
      await changePhoto(visit, petId);
      return { location: photosOfPath(petId) };
    } catch (error) {
      return refusal(error, petId);
    }
  },
});

async function addPhoto({ deployment, account, origin, file }: AccountVisit, petId: number) {
  if (file === undefined) throw problem('invalid_photo', 'The form has no file.');
  const uploader = { accountId: account.id, admin: false, plan: account.plan };
  return receivePhoto(deployment, uploader, petId, file, async (_, store) => {
    const photo = await store();
    let previousEtag: string | undefined;
    const keep = (etag: string) => {
      previousEtag = etag;
    };
    const { pet } = await deployment.database.write(
      tx => addReceived(tx, deployment, uploader, petId, photo, { checkPreconditions: keep }),
      origin,
    );
    return { previousEtag, etag: etagOf(pet) };
  });
}

async function changePhoto(visit: AccountVisit, petId: number) {
  const { deployment, account, origin, form, parameters } = visit;
  const photoId = parameters['photoId']!;
  const actor = { accountId: account.id, admin: false };
  if (form.get('delete') === 'yes') {
    await deployment.database.write(tx => deletePhoto(tx, actor, petId, photoId, checkOf(visit)), origin);
    return;
  }
  const reading = photoPatch.read({ alt: form.get('alt') || null, position: Number(form.get('position')) }, true);
  if ('errors' in reading) {
    const message = reading.errors.map(one => `${one.path.slice(1)}: ${one.message}`).join(' ');
    throw problem('invalid_body', message, { errors: reading.errors });
  }
  const patch = reading.value as PhotoPatch;
  await deployment.database.write(tx => updatePhoto(tx, actor, petId, photoId, patch, checkOf(visit)), origin);
}

const photoPatch = new BodyReader(PhotoPatch);

/** Returns the page on why a photo was not added or changed; `undefined` if the account has no such photo. */
function refusal(error: unknown, petId: number, isScript = false): View | undefined {
  if (!(error instanceof Problem) || error.status >= 500) throw error;
  if (['pet_not_found', 'not_owner', 'photo_not_found'].includes(error.code)) return undefined;
  if (isScript) throw error;
  const back = html`<p><a href="${photosOfPath(petId)}">Back to the animal</a></p>`;
  return { status: 422, body: html`${notice('alert', error.message)}${back}` };
}

function photosOfPath(petId: number): string {
  return `/shelter/animals/${petId}#photos`;
}

/** Returns the photos of an animal, each with the forms to change and to delete it, and the form to add one. */
export function ownPhotosView(visit: AccountVisit, pet: FullPet): Html {
  const { id, name, etag, photos = [] } = pet;
  const known = html`<input type="hidden" name="etag" value="${etag}">`;
  return html`<section id="photos" aria-labelledby="photos-title">
<h2 id="photos-title">Photos</h2>
<p class="hint">The photo at place 1 is the main photo.</p>
<ul class="gallery">${photos.map((photo, index) => {
    const action = `/shelter/animals/${id}/photos/${photo.id}`;
    const field = `photo-${index + 1}`;
    return html`<li data-photo="${photo.id}">${photoView(name, photo, 300, 'lazy', 'photo')}
${form(visit, { action, submit: `Save photo ${index + 1}` }, [
  known,
  html`<div class="field"><label for="${field}-alt">What photo ${index + 1} shows</label><input id="${field}-alt" name="alt" value="${photo.alt ?? ''}" autocomplete="off"></div>`,
  html`<div class="field"><label for="${field}-position">Place of photo ${index + 1}</label><input id="${field}-position" name="position" type="number" min="1" max="${PHOTOS_MAX}" value="${index + 1}" required></div>`,
])}
${form(visit, { action, submit: `Delete photo ${index + 1}`, danger: true }, html`${known}<input type="hidden" name="delete" value="yes">`)}</li>`;
  })}</ul>
${addView(visit, pet)}
</section>`;
}

function addView(visit: AccountVisit, { id, photos = [] }: FullPet): Html {
  if (photos.length >= PHOTOS_MAX) {
    return html`<p>The animal has ${PHOTOS_MAX} photos, the maximum. Delete one to add another.</p>`;
  }
  return html`<form method="post" action="/shelter/animals/${id}/photos" enctype="multipart/form-data" class="stacked" id="add-photos" data-bytes-max="${PHOTO_BYTES_MAX}">
${visit.tokenField()}
<div class="field"><label for="photo-file">Add a photo</label>
<p class="hint" id="photo-file-hint">JPEG, PNG or WebP, at most ${PHOTO_BYTES_MAX / 1024 / 1024} MiB and ${PHOTO_PIXELS_MAX / 1e6} megapixels each; at most ${PHOTOS_MAX} photos of an animal.</p>
<input id="photo-file" name="photo" type="file" accept="${photoTypes.join(',')}" required aria-describedby="photo-file-hint"></div>
<button>Upload</button>
</form>`;
}
