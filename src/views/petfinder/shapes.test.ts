import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FullPet } from '../../model/pet.ts';
import { photoOf } from '../../model/photo.ts';
import { animalOf, organizationIdOf, petIdOf } from './shapes.ts';

const pet = {
  ...{ id: 7, name: 'Rex', categoryId: 1, status: 'sold', accountId: 1, etag: '"1"' },
  ...{ createdAt: '2026-11-20T12:00:00.000Z', updatedAt: '2026-11-20T12:00:00.123Z' },
} as const satisfies FullPet;

function shown(more: Partial<FullPet> = {}) {
  const type = { name: 'Dog', slug: 'dog' };
  const place = { publicUrl: 'https://store.example', base: '/petfinder/v2' };
  return animalOf({ ...pet, ...more }, { type, species: 'Dog', organization: undefined, ...place });
}

describe('an animal of the Petfinder view', () => {
  it('has photos in the sizes of the original, and a cropped one', () => {
    const id = 'a'.repeat(64);
    const url = (size: number) => `https://store.example/photos/${id}/${size}.jpg`;
    const photo = photoOf({ id, width: 2000, height: 1000, bytes: 10 }, 'https://store.example');
    const { photos, primary_photo_cropped: cropped } = shown({ photos: [photo] });
    assert.deepEqual(photos, [{ small: url(100), medium: url(300), large: url(600), full: url(1280) }]);
    assert.deepEqual(cropped, { small: url(450), medium: url(450), large: url(450), full: url(1280) });
  });

  it('has no answer that was not given, and no contact without an organization', () => {
    const { attributes, environment, contact, organization_id: organization, status } = shown();
    assert.deepEqual(
      [attributes.house_trained, attributes.declawed, environment, organization, contact.email, status],
      [false, null, { children: null, dogs: null, cats: null }, null, null, 'adopted'],
    );
  });

  it('has the beginning of its description, with whole characters', () => {
    assert.equal(shown({ description: '🐕'.repeat(101) }).description, `${'🐕'.repeat(100)}...`);
    assert.equal(shown({ description: '"A" & <b>' }).description, '&#34;A&#34; &#38; &#60;b&#62;');
    assert.equal(shown().description, null);
  });

  it('has ids that only the view has', () => {
    assert.equal(shown().id, 10_000_007);
    assert.deepEqual(['10000007', '10000000', '7', '1e8', '9007199254740993'].map(petIdOf), [
      7,
      ...[undefined, undefined, undefined, undefined],
    ]);
    assert.deepEqual(['PS7', 'ps7', '7', 'PS', 'XPS7'].map(organizationIdOf), [
      ...[7, 7],
      ...[undefined, undefined, undefined],
    ]);
  });
});
