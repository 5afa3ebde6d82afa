import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { image, upload } from '../support/photos.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';

/** Returns a small PNG of one color with any dimensions. */
function hugePng(width: number, height: number): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const typed = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(typed));
    return Buffer.concat([length, typed, sum]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // One bit a pixel, gray.
  header.set([1, 0, 0, 0, 0], 8);
  const pixels = Buffer.alloc(height * (Math.ceil(width / 8) + 1));
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(pixels, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>';

describe('hostile photos', () => {
  let serving: TestService;
  let baseUrl: string;
  let key: string;
  let petId: number;

  before(async () => {
    serving = await serve({ environment: { PETSTORE_STAGING_PORT: '' } });
    baseUrl = serving.urls.production;
    key = (await serving.newKey()).token;
    const pet = await send(`${baseUrl}/pets`, { method: 'POST', key, body: { name: 'Rex', categoryId: 1 } });
    petId = pet.body.id;
  });
  after(() => serving?.stop());

  const add = (bytes: Buffer | string, type = 'image/jpeg') =>
    upload(baseUrl, key, petId, Buffer.from(bytes), { type });

  async function assertRejected(bytes: Buffer | string, type?: string): Promise<string> {
    const { status, body } = await add(bytes, type);
    assert.deepEqual([status, body.code], [400, 'invalid_photo']);
    // The next photo is accepted.
    const { body: pet } = await send(`${baseUrl}/pets/${petId}?view=full`, { key });
    assert.equal(pet.photos, undefined);
    return body.message;
  }

  it('rejects 28 KB that are an image of 225 megapixels, by its header', async () => {
    const bomb = hugePng(15_000, 15_000);
    assert.ok(bomb.length < 30_000, String(bomb.length));
    assert.match(await assertRejected(bomb, 'image/png'), /pixel limit/);
  });

  it('accepts 49 megapixels', async () => {
    const { status, body } = await add(hugePng(7000, 7000), 'image/png');
    assert.deepEqual([status, body.width], [201, 7000]);
    await send(`${baseUrl}/pets/${petId}/photos/${body.id}`, { method: 'DELETE', key });
  });

  it('rejects SVG, whatever type it claims', async () => {
    for (const type of ['image/jpeg', 'image/png', 'image/webp']) await assertRejected(svg, type);
    assert.equal((await add(svg, 'image/svg+xml')).body.code, 'invalid_content_type');
  });

  it('rejects AVIF, GIF, HTML and nothing', async () => {
    await assertRejected(await image('avif'));
    await assertRejected(await image('gif'));
    await assertRejected('<!doctype html><script>alert(1)</script>');
    await assertRejected('');
    await assertRejected(Buffer.from([0xff, 0xd8, 0xff]));
  });

  it('rejects another format behind the first bytes of a JPEG', async () => {
    await assertRejected(Buffer.concat([Buffer.from([0xff, 0xd8, 0xff]), Buffer.from(svg)]));
    await assertRejected(Buffer.concat([Buffer.from('RIFF0000WEBP', 'latin1'), Buffer.from(svg)]), 'image/webp');
  });

  it('rejects truncated files of every format', async () => {
    for (const format of ['jpeg', 'png', 'webp'] as const) {
      const whole = await image(format, { width: 300, height: 300, noise: true });
      await assertRejected(whole.subarray(0, whole.length / 2), `image/${format}`);
    }
  });

  it('rejects bytes that were changed on the way', async () => {
    const whole = await image('png', { width: 300, height: 300, noise: true });
    whole.fill(0, 50_000, 50_100);
    await assertRejected(whole, 'image/png');
  });

  it('serves nothing of what was appended to a photo', async () => {
    const script = '<script>alert(1)</script>';
    const { status, body } = await add(Buffer.concat([await image('jpeg'), Buffer.from(script.repeat(50))]));
    assert.equal(status, 201);
    for (const url of Object.values(body.urls as Record<string, string>)) {
      const response = await fetch(url);
      assert.equal(Buffer.from(await response.arrayBuffer()).includes('script'), false);
      assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    }
    await send(`${baseUrl}/pets/${petId}/photos/${body.id}`, { method: 'DELETE', key });
  });

  it('accepts extreme shapes and odd colors', async () => {
    const shapes = [
      await image('png', { width: 1, height: 1 }),
      await image('png', { width: 20_000, height: 1 }),
      await sharp(await image('png'))
        .ensureAlpha(0.5)
        .png()
        .toBuffer(),
      await sharp(await image('png'))
        .toColourspace('rgb16')
        .png()
        .toBuffer(),
      await sharp(await image('png'))
        .toColourspace('b-w')
        .png()
        .toBuffer(),
    ];
    for (const [index, bytes] of shapes.entries()) {
      const { status, body } = await add(bytes, 'image/png');
      assert.equal(status, 201, `${index}: ${JSON.stringify(body)}`);
      await send(`${baseUrl}/pets/${petId}/photos/${body.id}`, { method: 'DELETE', key });
    }
    const cmyk = await sharp(await image('jpeg'))
      .toColourspace('cmyk')
      .jpeg()
      .toBuffer();
    const { status, body } = await add(cmyk);
    assert.equal(status, 201);
    await send(`${baseUrl}/pets/${petId}/photos/${body.id}`, { method: 'DELETE', key });
  });

  it('rejects more than 10 MiB, declared or not', async () => {
    const large = Buffer.alloc(10 * 1024 * 1024 + 1, 0xff);
    large.set([0xff, 0xd8, 0xff]);
    assert.deepEqual((await add(large)).body.code, 'body_too_large');
    const streamed = await fetch(`${baseUrl}/pets/${petId}/photos`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'image/jpeg' },
      body: new ReadableStream({
        start(controller) {
          for (let sent = 0; sent < large.length; sent += 65_536)
            controller.enqueue(large.subarray(sent, sent + 65_536));
          controller.close();
        },
      }),
      duplex: 'half',
    } as RequestInit);
    assert.equal(((await streamed.json()) as { code: string }).code, 'body_too_large');
  });

  it('recognizes HEIC photos of iPhones, and AVIF, by their brand, and says what to do', async () => {
    for (const brand of ['heic', 'heix', 'mif1']) {
      assert.match(await assertRejected(`\0\0\0\x24ftyp${brand}\0\0\0\0`), /HEIC photo.*Send it as JPEG/);
    }
    for (const brand of ['avif', 'avis']) {
      assert.match(await assertRejected(`\0\0\0\x24ftyp${brand}\0\0\0\0`), /AVIF photo. Send it as JPEG/);
    }
    for (const other of ['\0\0\0\x24moovheic\0\0\0\0', 'ftypheic']) {
      assert.equal(await assertRejected(other), 'The file must be JPEG, PNG or WebP.');
    }
    for (const [type, expected] of [
      ['image/heic', /^The Content-Type must be one of image\/jpeg, .*HEIC photo.*Send it as JPEG/],
      ['image/avif', /^The Content-Type must be one of image\/jpeg, .*AVIF photo.*Send it as JPEG/],
    ] as const) {
      const { status, body } = await add('x', type);
      assert.equal(status, 400);
      assert.match(body.message, expected);
    }
  });

  it('gets the response to a client that reads only once it has sent everything, however early the refusal', async () => {
    const parts = 28;
    const part = Buffer.alloc(20_000, '\0\0\0\x24ftypheic\0\0\0\0');
    const { port, pathname } = new URL(`${baseUrl}/pets/${petId}/photos`);
    const head = ['Host: localhost', `Authorization: Bearer ${key}`, 'Content-Type: image/jpeg'];
    const sendSlowly = async (connection: string) => {
      const socket = connect(Number(port), '127.0.0.1').pause();
      const headers = [...head, `Connection: ${connection}`, `Content-Length: ${parts * part.length}`];
      socket.write(`POST ${pathname} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
      // Longer than the five seconds after which nothing may arrive any more.
      for (let sent = 0; sent < parts; sent++) {
        if (!socket.write(part)) await once(socket, 'drain');
        await pause(250);
      }
      const [data] = await once(socket.resume(), 'data');
      assert.match(String(data), /^HTTP\/1\.1 400 [\s\S]*HEIC photo/);
      socket.destroy();
    };
    await Promise.all(['keep-alive', 'close'].map(sendSlowly));
  });

  it('survives clients that leave in the middle of an upload', async () => {
    const head = `POST /v1/pets/${petId}/photos HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Type: image/jpeg\r\n`;
    const start = Buffer.from([0xff, 0xd8, 0xff, ...Buffer.alloc(5000)]).toString('latin1');
    const { port } = new URL(baseUrl);
    for (let left = 0; left < 20; left++) {
      const socket = connect(Number(port), '127.0.0.1');
      await new Promise<void>(resolve =>
        socket.write(`${head}Content-Length: 100000\r\n\r\n${start}`, 'latin1', () => resolve()),
      );
      socket.destroy();
    }
    // None of them holds one of the eight places of the account.
    await waitUntil(async () => (await add(await image('jpeg', { color: '#999' }))).status === 201);
    const replies = await Promise.all(
      ['#100', '#200', '#300', '#400'].map(async color => add(await image('jpeg', { color }))),
    );
    assert.deepEqual(
      replies.map(({ status }) => status),
      [201, 201, 201, 201],
    );
  });
});
