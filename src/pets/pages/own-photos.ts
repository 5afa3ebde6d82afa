import { problem } from '../../errors.ts';
import { type Html, html } from '../../lib/html/html.ts';
import { Problem } from '../../lib/http/problem.ts';
import { BodyReader } from '../../lib/http/server/validation.ts';
import { PhotoPatch } from '../../photos/photo.ts';
import { deletePhoto, updatePhoto } from '../../photos/photos.ts';
import { form, notice } from '../../web/forms.ts';
import { idOf } from '../../web/lists.ts';
import { type AccountVisit, accountPage } from '../../web/page.ts';
import type { FullPet } from '../pet.ts';
import { photoView } from './parts.ts';

/** Changes the text or the place of a photo of an animal of the account, or deletes it. */
export const ownPhotoPage = accountPage({
  path: '/shelter/animals/{petId}/photos/{photoId}',
  title: 'Change a photo',
  async submit(visit) {
    const petId = idOf(visit.parameters['petId']);
    if (petId === undefined) return undefined;
    try {
      await changePhoto(visit, petId);
      return { location: `/shelter/animals/${petId}` };
    } catch (error) {
      if (!(error instanceof Problem) || error.status >= 500) throw error;
      if (['pet_not_found', 'not_owner', 'photo_not_found'].includes(error.code)) return undefined;
      const back = html`<p><a href="/shelter/animals/${petId}">Back to the animal</a></p>`;
      return { status: 422, body: html`${notice('alert', error.message)}${back}` };
    }
  },
});

async function changePhoto({ deployment, account, origin, form, parameters }: AccountVisit, petId: number) {
  const photoId = parameters['photoId']!;
  const actor = { accountId: account.id, admin: false };
  if (form.get('delete') === 'yes') {
    await deployment.database.write(tx => deletePhoto(tx, actor, petId, photoId), origin);
    return;
  }
  const reading = photoPatch.read({ alt: form.get('alt') || null, position: Number(form.get('position')) }, true);
  if ('errors' in reading) {
    const message = reading.errors.map(one => `${one.path.slice(1)}: ${one.message}`).join(' ');
    throw problem('invalid_body', message, { errors: reading.errors });
  }
  const patch = reading.value as PhotoPatch;
  await deployment.database.write(tx => updatePhoto(tx, actor, petId, photoId, patch), origin);
}

const photoPatch = new BodyReader(PhotoPatch);

/** Returns the photos of an animal, each with the forms to change and to delete it. */
export function ownPhotosView(visit: AccountVisit, { id, name, photos = [] }: FullPet): Html | undefined {
  if (photos.length === 0) return undefined;
  return html`<h2>Photos</h2>
<p class="hint">The photo at place 1 is the main photo.</p>
<ul class="gallery">${photos.map((photo, index) => {
    const action = `/shelter/animals/${id}/photos/${photo.id}`;
    const field = `photo-${index + 1}`;
    return html`<li>${photoView(name, photo, 300, 'lazy', 'photo')}
${form(visit, { action, submit: `Save photo ${index + 1}` }, [
  html`<div class="field"><label for="${field}-alt">What photo ${index + 1} shows</label><input id="${field}-alt" name="alt" value="${photo.alt ?? ''}" autocomplete="off"></div>`,
  html`<div class="field"><label for="${field}-position">Place of photo ${index + 1}</label><input id="${field}-position" name="position" type="number" min="1" max="${photos.length}" value="${index + 1}" required></div>`,
])}
${form(visit, { action, submit: `Delete photo ${index + 1}`, danger: true }, html`<input type="hidden" name="delete" value="yes">`)}</li>`;
  })}</ul>`;
}
