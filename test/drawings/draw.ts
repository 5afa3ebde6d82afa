// Draws the photos of the sample animals: `node test/drawings/draw.ts`. Each is the original, and the smaller sizes that
// the service would make of it. The results are committed, in src/seeds/photos/.

import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import sharp from 'sharp';
import { looks } from './looks.ts';
import { ground } from './shapes.ts';

const directory = new URL('../../src/operate/seeds/photos/', import.meta.url);
/** The sides of the original, and of the sizes that are smaller. */
const SIZE = 512;
const SMALLER = [450, 300, 100];

rmSync(directory, { recursive: true, force: true });
mkdirSync(directory);
for (const [name, { on, draw }] of Object.entries(looks)) {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="600" height="600" viewBox="0 0 600 600">${ground(on)}${draw}</svg>`;
  const image = await sharp(Buffer.from(svg), { density: 144 })
    .resize(SIZE, SIZE)
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  for (const size of [SIZE, ...SMALLER]) {
    const jpeg = await sharp(image.data, { raw: image.info })
      .resize(size, size)
      .jpeg({ quality: 54, mozjpeg: true })
      .toBuffer();
    writeFileSync(new URL(`${name}-${size}.jpg`, directory), jpeg);
  }
}
const files = readdirSync(directory);
const bytes = files.reduce((sum, name) => sum + statSync(new URL(name, directory)).size, 0);
console.log(`${files.length} files, ${bytes} bytes`);
