// Keeps the photos that are chosen for an animal until it is saved and they are uploaded: in the browser, for a day,
// under the id of the person. `site.js` deletes them at sign-out.

const DAY_MS = 86_400_000;
const NAME = 'waiting-photos';
/** The ids of the photos of the form that was sent last from this tab. */
const SENT = 'sent-photos';

/** Runs a request on the photos. @returns its result; `undefined` if the browser stores nothing */
async function run(mode, start) {
  try {
    const opening = indexedDB.open(NAME, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(NAME, { keyPath: 'id', autoIncrement: true });
    const database = await resultOf(opening);
    try {
      return await resultOf(start(database.transaction(NAME, mode).objectStore(NAME)));
    } finally {
      database.close();
    }
  } catch {
    return undefined;
  }
}

function resultOf(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Keeps a photo. @returns its id; `undefined` if the browser stores nothing */
export function keepPhoto(person, file) {
  return run('readwrite', photos => photos.add({ person, file, at: Date.now() }));
}

export function deletePhoto(id) {
  return run('readwrite', photos => photos.delete(id));
}

/** Returns the photos of a person. Deletes all that are older than a day. */
async function photosOf(person) {
  const photos = (await run('readonly', photos => photos.getAll())) ?? [];
  const isOld = ({ at }) => !(Date.now() - at < DAY_MS);
  for (const { id } of photos.filter(isOld)) await deletePhoto(id);
  return photos.filter(photo => photo.person === person && !isOld(photo));
}

/** Returns the photos that wait for an animal that is not saved. */
export async function waitingPhotos(person) {
  return (await photosOf(person)).filter(({ to }) => to === undefined);
}

/** Remembers the photos of a form that is being sent. */
export function rememberSent(ids) {
  try {
    sessionStorage.setItem(SENT, JSON.stringify(ids));
  } catch {
    // The next page takes photos too.
  }
}

/** Returns the photos to upload for an animal that was saved. @param to the address that takes its photos */
export async function photosFor(person, to, isSaved) {
  const sent = isSaved ? sentIds() : [];
  const photos = await photosOf(person);
  for (const photo of photos.filter(({ id }) => sent.includes(id))) {
    photo.to = to;
    await run('readwrite', photos => photos.put(photo));
  }
  return photos.filter(photo => photo.to === to);
}

function sentIds() {
  try {
    const ids = JSON.parse(sessionStorage.getItem(SENT) ?? '[]');
    sessionStorage.removeItem(SENT);
    return ids;
  } catch {
    return [];
  }
}
