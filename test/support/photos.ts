import { createHash } from 'node:crypto';
import sharp from 'sharp';

/** Returns an image of one color. @param options.noise whether the pixels are random, so that the file is large */
export async function image(
  format: 'jpeg' | 'png' | 'webp' | 'avif' | 'gif',
  options: { width?: number; height?: number; color?: string; noise?: boolean } = {},
): Promise<Buffer> {
  const { width = 64, height = 48, color = '#a63', noise = false } = options;
  const create = { width, height, channels: 3 as const, background: color };
  const pixels = noise ? { ...create, noise: { type: 'gaussian' as const, mean: 128, sigma: 60 } } : create;
  return sharp({ create: pixels, limitInputPixels: false })[format]().toBuffer();
}

export function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Sends the bytes of a photo, as `POST /pets/{petId}/photos` takes them. @param of the id of a pet, or such as `organizations/1` */
export async function upload(
  baseUrl: string,
  key: string,
  of: number | string,
  bytes: Buffer,
  { type = 'image/jpeg', query = '', headers = {} as Record<string, string> } = {},
) {
  const response = await fetch(`${baseUrl}/${typeof of === 'number' ? `pets/${of}` : of}/photos${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': type, ...headers },
    body: new Uint8Array(bytes),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}
