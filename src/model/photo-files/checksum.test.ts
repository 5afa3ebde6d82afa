import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import sharp from 'sharp';
import { image } from '../../../test/support/photos.ts';
import { isIntact, lacksChecksum, withChecksum } from './checksum.ts';

describe('the checksum of a size', () => {
  it('notices every changed byte, and shows the same picture', async () => {
    const earlier = await image('jpeg');
    const size = withChecksum(earlier);
    assert.deepEqual([lacksChecksum(earlier), isIntact(earlier)], [true, true]);
    assert.deepEqual([lacksChecksum(size), isIntact(size)], [false, true]);
    assert.deepEqual(await sharp(size).raw().toBuffer(), await sharp(earlier).raw().toBuffer());
    for (let index = 0; index < size.length; index++) {
      for (const change of [1, 0x20, 0xff]) {
        const changed = Buffer.from(size);
        changed[index]! ^= change;
        assert.equal(isIntact(changed), false, `byte ${index}`);
      }
    }
    for (let length = 0; length < size.length; length++) assert.equal(isIntact(size.subarray(0, length)), false);
  });
});
