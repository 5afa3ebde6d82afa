import { crc32 } from 'node:zlib';

const START_OF_IMAGE = Buffer.from([0xff, 0xd8]);
const END_OF_IMAGE = Buffer.from([0xff, 0xd9]);
/** The beginning of a comment, including its length. The comment ends with eight hexadecimal digits. */
const COMMENT = Buffer.concat([Buffer.from([0xff, 0xfe, 0, 16]), Buffer.from('crc32 ')]);
const DIGITS = 8;
const CHECKSUM_END = START_OF_IMAGE.length + COMMENT.length + DIGITS;
/** The bytes after the start of a size of earlier releases, which has no comment. */
const QUANTIZATION_TABLE = Buffer.from([0xff, 0xdb]);

/** Returns a JPEG of the encoder with a comment that contains the CRC-32 of the following bytes. */
export function withChecksum(jpeg: Buffer): Buffer {
  const rest = jpeg.subarray(START_OF_IMAGE.length);
  return Buffer.concat([START_OF_IMAGE, COMMENT, Buffer.from(digitsOf(rest)), rest]);
}

/** Reports whether a size has no checksum, like those of earlier releases. */
export function lacksChecksum(jpeg: Buffer): boolean {
  return jpeg.subarray(START_OF_IMAGE.length).subarray(0, 2).equals(QUANTIZATION_TABLE);
}

/**
 * Reports whether a size has the beginning and the end of a JPEG, and a matching checksum unless it is of an earlier
 * release.
 */
export function isIntact(jpeg: Buffer): boolean {
  if (!jpeg.subarray(0, 2).equals(START_OF_IMAGE) || !jpeg.subarray(-2).equals(END_OF_IMAGE)) return false;
  if (lacksChecksum(jpeg)) return true;
  const expected = Buffer.concat([START_OF_IMAGE, COMMENT, Buffer.from(digitsOf(jpeg.subarray(CHECKSUM_END)))]);
  return jpeg.subarray(0, CHECKSUM_END).equals(expected);
}

function digitsOf(bytes: Buffer): string {
  return crc32(bytes).toString(16).padStart(DIGITS, '0');
}
