/** Returns the bytes of a text in base32, with or without spaces: the secret that a page shows for an app. */
export function bytesOfBase32(text: string): Buffer {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = Array.from(text.replaceAll(' ', ''), letter =>
    letters.indexOf(letter).toString(2).padStart(5, '0'),
  ).join('');
  return Buffer.from(bits.match(/.{8}/g)!.map(byte => Number.parseInt(byte, 2)));
}
