import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Photo } from '../../model/photo.ts';
import { gallery } from './photo-view.ts';

const id = 'a'.repeat(64);
const photo = (width: number, height: number) => ({ id, width, height }) as Photo;

it('a gallery lets the browser choose among the sizes that show the whole photo, each width once', () => {
  const { text } = gallery({ name: 'Rex', photos: [photo(4000, 2000)] })!;
  const srcset = `/photos/${id}/300.jpg 300w, /photos/${id}/600.jpg 600w, /photos/${id}/1280.jpg 1280w`;
  assert.ok(text.includes(`srcset="${srcset}" sizes="(max-width: 28rem) 100vw, 24rem"`), text);
  assert.match(
    gallery({ name: 'Rex', photos: [photo(400, 500)] })!.text,
    / srcset="[^ ]+\/300\.jpg 240w, [^ ]+\/600\.jpg 400w" /,
  );
});
