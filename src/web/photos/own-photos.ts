import { etagOf } from '../../lib/etag.ts';
import { type Html, html } from '../../lib/html/html.ts';
import { prefersHtml } from '../../lib/http/server/accept.ts';
import { BodyReader } from '../../lib/http/server/validation.ts';
import { capitalized } from '../../lib/text.ts';
import { problem } from '../../model/errors.ts';
import {
  PHOTO_BYTES_MAX,
  PHOTO_PIXELS_MAX,
  PHOTOS_MAX,
  type Photo,
  PhotoPatch,
  photoTypes,
} from '../../model/photo.ts';
import { MEBIBYTE } from '../../model/plan.ts';
import type { Permission } from '../../model/roles.ts';
import { type HolderRow, organizationPhotos, type PhotoHolders, petPhotos } from '../../store/photos/holders.ts';
import { deletePhoto, updatePhoto } from '../../store/photos/photos.ts';
import { addReceived, receivePhoto } from '../../store/photos/receive.ts';
import { assertFormProblem, checkOf, form, hidden, notice } from '../forms.ts';
import { idOf } from '../lists.ts';
import { type AccountVisit, accountPage, ownActor, type View, type WebPage } from '../page.ts';
import { ANIMALS_PATH, ORGANIZATION_PATH } from '../paths.ts';
import { photoView, type WithPhotos } from './photo-view.ts';

/** The pages with the forms for the photos of one kind of holder. */
interface Editor<Row extends HolderRow> {
  readonly holders: PhotoHolders<Row>;
  readonly permission: Permission;
  /** The path of the page with the photos, with parameters in braces. */
  readonly path: string;
  /** Returns the id of the holder of the photos; `undefined` if the URL has none. */
  idIn(visit: AccountVisit): number | undefined;
}

/** The pages that change the photos of the account's animals and organization. */
export const ownPhotoPages: readonly WebPage[] = [
  ...pagesOf({
    holders: petPhotos,
    permission: 'animals',
    path: `${ANIMALS_PATH}/{petId}`,
    idIn: ({ parameters }) => idOf(parameters['petId']),
  }),
  ...pagesOf({
    holders: organizationPhotos,
    permission: 'organization',
    path: ORGANIZATION_PATH,
    idIn: ({ account }) => account.id,
  }),
];

/** Returns the page that adds a photo, and the page that changes or deletes one. */
function pagesOf<Row extends HolderRow>(editor: Editor<Row>): readonly WebPage[] {
  const add = accountPage({
    path: `${editor.path}/photos`,
    permission: editor.permission,
    title: 'Add a photo',
    file: { kind: 'photos', bytesMax: PHOTO_BYTES_MAX },
    async submit(visit) {
      const id = editor.idIn(visit);
      if (id === undefined) return undefined;
      const isScript = !prefersHtml(visit.request.header('accept'));
      // Scripts get the entity tags before and after the change.
      const added = async () => {
        const etags = await addPhoto(editor.holders, visit, id);
        if (!isScript) return { location: photosIn(visit, 1) };
        return { contentType: 'application/json', bytes: JSON.stringify(etags) };
      };
      return added().catch(error => refusal(editor.holders, error, photosIn(visit, 1), isScript));
    },
  });
  const change = accountPage({
    path: `${editor.path}/photos/{photoId}`,
    permission: editor.permission,
    title: 'Change a photo',
    async submit(visit) {
      const id = editor.idIn(visit);
      if (id === undefined) return undefined;
      const changed = async () => {
        await changePhoto(editor.holders, visit, id);
        return { location: photosIn(visit, 2) };
      };
      return changed().catch(error => refusal(editor.holders, error, photosIn(visit, 2)));
    },
  });
  return [add, change];
}

/** Returns the address of the photos on the page a number of segments above. */
function photosIn({ request }: AccountVisit, segments: number): string {
  return `${request.path.split('/').slice(0, -segments).join('/')}#photos`;
}

async function addPhoto<Row extends HolderRow>(holders: PhotoHolders<Row>, visit: AccountVisit, id: number) {
  const { deployment, account, origin, file } = visit;
  if (file === undefined) throw problem('invalid_photo', 'The form has no file.');
  const uploader = { ...ownActor(visit), plan: account.plan };
  return receivePhoto(deployment, holders, uploader, id, file, async (_, store) => {
    const photo = await store();
    let previousEtag: string | undefined;
    const keep = (etag: string) => {
      previousEtag = etag;
    };
    const { holder } = await deployment.database.write(
      tx => addReceived(tx, deployment, holders, uploader, id, photo, { checkPreconditions: keep }),
      origin,
    );
    return { previousEtag, etag: etagOf(holder) };
  });
}

async function changePhoto<Row extends HolderRow>(holders: PhotoHolders<Row>, visit: AccountVisit, id: number) {
  const { deployment, origin, form, parameters } = visit;
  const photoId = parameters['photoId']!;
  const actor = ownActor(visit);
  const check = checkOf(visit, holders.noun);
  if (form.get('delete') === 'yes') {
    await deployment.database.write(tx => deletePhoto(tx, holders, actor, id, photoId, check), origin);
    return;
  }
  const reading = photoPatch.read({ alt: form.get('alt') || null, position: Number(form.get('position')) }, true);
  if ('errors' in reading) {
    const message = reading.errors.map(one => `${one.path.slice(1)}: ${one.message}`).join(' ');
    throw problem('invalid_body', message, { errors: reading.errors });
  }
  const patch = reading.value as PhotoPatch;
  await deployment.database.write(tx => updatePhoto(tx, holders, actor, id, photoId, patch, check), origin);
}

const photoPatch = new BodyReader(PhotoPatch);

/**
 * Returns the page with the reason why a photo was not added or changed; `undefined` if the account has no such photo.
 * @param back the address of the photos
 */
function refusal(
  { noun }: Pick<PhotoHolders, 'noun'>,
  error: unknown,
  back: string,
  isScript = false,
): View | undefined {
  assertFormProblem(error);
  if (['pet_not_found', 'organization_not_found', 'not_owner', 'photo_not_found'].includes(error.code))
    return undefined;
  if (isScript) throw error;
  return { status: 422, body: html`${notice('alert', error.message)}<p><a href="${back}">Back to the ${noun}</a></p>` };
}

/** An animal or an organization that its owner edits. */
interface Edited extends WithPhotos {
  readonly etag: string;
}

/**
 * Returns the photos of a holder on its page, each with the forms to change and to delete it, and the form to add one.
 */
export function ownPhotosView(visit: AccountVisit, { name, etag, photos = [] }: Edited, noun: string): Html {
  const path = `${visit.request.path}/photos`;
  const known = hidden('etag', etag);
  return html`<section id="photos" aria-labelledby="photos-title">
<h2 id="photos-title">Photos</h2>
${photos.length > 1 && html`<p class="hint">The first photo is the main photo.</p>`}
<ul class="gallery">${photos.map((photo, index) => {
    const action = `${path}/${photo.id}`;
    const field = `photo-${index + 1}`;
    return html`<li data-photo="${photo.id}">${photoView(name, photo, 300, 'lazy', 'photo')}
<details><summary>Change photo ${index + 1}</summary>
${form(visit, { action, submit: `Save photo ${index + 1}`, secondary: true }, [
  known,
  html`<div class="field"><label for="${field}-alt">What photo ${index + 1} shows</label><input id="${field}-alt" name="alt" value="${photo.alt ?? ''}" autocomplete="off" dir="auto"></div>`,
  html`<div class="field"><label for="${field}-position">Position of photo ${index + 1}</label><input id="${field}-position" name="position" type="number" inputmode="numeric" min="1" max="${PHOTOS_MAX}" value="${index + 1}" required></div>`,
])}
${form(visit, { action, submit: `Delete photo ${index + 1}`, danger: true }, html`${known}<input type="hidden" name="delete" value="yes">`)}</details></li>`;
  })}</ul>
${addView(visit, path, photos, noun)}
</section>`;
}

/**
 * Returns the place for the photos of an animal that is not saved yet: its next page takes them. The script keeps the
 * chosen photos until then.
 * @param sentTo the address that takes the photos that were chosen for another animal, which is saved now
 */
export function photosLaterView(sentTo?: string): Html {
  return html`<section id="photos" aria-labelledby="photos-title">
<h2 id="photos-title">Photos</h2>
<div id="choose-photos" data-bytes-max="${PHOTO_BYTES_MAX}" data-photos-max="${PHOTOS_MAX}" data-types="${photoTypes.join(',')}"${
    sentTo !== undefined && html` data-url="${sentTo}"`
  }><p class="hint">Save first. The next page takes the photos.</p></div>
</section>`;
}

function addView(visit: AccountVisit, path: string, photos: readonly Photo[], noun: string): Html | undefined {
  if (visit.isReadOnly) return undefined;
  if (photos.length >= PHOTOS_MAX) {
    return html`<p>The ${noun} has ${PHOTOS_MAX} photos, the maximum. Delete a photo to add another.</p>`;
  }
  return html`<form method="post" action="${path}" enctype="multipart/form-data" class="stacked" id="add-photos" data-bytes-max="${PHOTO_BYTES_MAX}">
${visit.tokenField()}
<div class="field"><label for="photo-file">Add a photo</label>
<p class="hint" id="photo-file-hint">JPEG, PNG or WebP, up to ${PHOTO_BYTES_MAX / MEBIBYTE} MiB and ${PHOTO_PIXELS_MAX / 1_000_000} megapixels each. ${capitalized(noun)}s have up to ${PHOTOS_MAX} photos.</p>
<input id="photo-file" name="photo" type="file" accept="${photoTypes.join(',')}" required aria-describedby="photo-file-hint"></div>
<button class="secondary">Upload</button>
</form>`;
}
