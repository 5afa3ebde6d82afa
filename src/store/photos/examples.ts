import { example } from '../../access/deployment.ts';
import type { ExampleFile } from '../../lib/http/route.ts';

const png = (name: string, base64: string): ExampleFile => ({ name, contentType: 'image/png', base64 });

const rex = png(
  'rex.png',
  'iVBORw0KGgoAAAANSUhEUgAAACgAAAAeCAMAAABpA6zvAAAAA1BMVEWqZjP/4khbAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAEklEQVQ4y2NgGAWjYBSMguEAAATOAAHHK9RWAAAAAElFTkSuQmCC',
);
const rexAsleep = png(
  'rex-asleep.png',
  'iVBORw0KGgoAAAANSUhEUgAAAB4AAAAoCAMAAADezbogAAAAA1BMVEUzZqqE8+DEAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAEklEQVQ4y2NgGAWjYBSMguEFAATYAAGPTZonAAAAAElFTkSuQmCC',
);

const REX = '3598ad5a4dc1d775f46ee8800514e053f0f28860d55608d46407eeffe92a172e';
const REX_ASLEEP = 'e758fa9626c2cf32cdec1e556310a8b2ae671d8c004f1ab38176d885978d2b45';
/** The subject of the examples: a resource, and the operation that adds a photo to it. */
interface Subject {
  readonly path: Readonly<Record<string, string>>;
  readonly adding: string;
  /** The examples that create the resource, if it does not exist. */
  readonly given: readonly string[];
}

/** Returns the examples of the photo operations of a kind of resource. */
export function examplesOf({ path, adding, given }: Subject) {
  const added = [...given, `${adding}: a photo`];
  const one = { given: added, path: { ...path, photoId: REX } };
  const add = [
    example('a photo', 'The bytes of a file, and a text for people who do not see it', 201, {
      given,
      path,
      query: 'alt=Rex%20on%20a%20red%20blanket',
      file: rex,
    }),
    example('another photo', 'The new photo comes after the others', 201, { given, path, file: rexAsleep }),
    example('the same photo', 'Safe to repeat: nothing changes', 200, { given: added, path, file: rex }),
    example('no photo', 'The first bytes decide, not the name of the file', 'invalid_photo', {
      given,
      path,
      file: { name: 'rex.png', contentType: 'image/png', base64: 'bm8gcGhvdG8gYXQgYWxs' },
    }),
    example('another account', 'Only the owner adds photos', 'not_owner', { given, path, file: rex, as: 'stranger' }),
  ];

  const update = [
    example('a text', 'Describe the photo', 200, { ...one, body: { alt: 'Rex, asleep in the sun' } }),
    example('main photo', 'Move a photo to the front', 200, {
      given: [...added, `${adding}: another photo`],
      path: { ...path, photoId: REX_ASLEEP },
      body: { position: 1 },
    }),
    example('unknown photo', 'There is no such photo', 'photo_not_found', {
      given,
      path: { ...path, photoId: REX_ASLEEP },
      body: { alt: null },
    }),
  ];

  const remove = [
    example('a photo', 'Other animals or organizations with the same photo keep it', 204, one),
    example('deleted already', 'The photo is gone', 'photo_not_found', { given, path: { ...path, photoId: REX } }),
  ];

  const original = [
    example('as uploaded', 'Byte for byte', 200, one),
    example('another account', 'Only the owner gets the original', 'not_owner', { ...one, as: 'stranger' }),
  ];
  return { add, update, remove, original };
}
