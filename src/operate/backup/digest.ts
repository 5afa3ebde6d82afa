import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { UserError } from '../../lib/user-error.ts';

/** The size and SHA-256 of a file. */
export interface Digest {
  readonly bytes: number;
  readonly sha256: string;
}

const CHUNK_BYTES = 1024 * 1024;

/**
 * Reads a file, flushes it, and returns its digest.
 * @param onBytes called with the number of bytes read so far
 */
export async function digestOf(file: string, onBytes?: (bytes: number) => void): Promise<Digest> {
  await using source = await open(file, 'r');
  await source.sync();
  return await read(source, onBytes);
}

/**
 * Returns the digest of a file of a backup.
 * @param onBytes called with the number of bytes read so far
 * @throws {UserError} if it cannot be read
 */
export function readDigest(directory: string, path: string, onBytes?: (bytes: number) => void): Promise<Digest> {
  return digestOf(join(directory, path), onBytes).catch((error: NodeJS.ErrnoException) => {
    throw new UserError(`The backup in ${directory} is incomplete: ${path} cannot be read (${error.code}).`);
  });
}

/** Returns the error for a file of a backup that differs from the manifest. */
export function changed(directory: string, path: string): UserError {
  return new UserError(`The backup in ${directory} is damaged: ${path} is not what was backed up. Use another backup.`);
}

/** Copies a file to a new or replaced file with mode 0600, flushes it, and returns the digest of the copied bytes. */
export async function copyFile(from: string, to: string): Promise<Digest> {
  await using source = await open(from, 'r');
  await using target = await open(to, 'w', 0o600);
  const digest = await read(source, undefined, target);
  await target.sync();
  return digest;
}

async function read(source: FileHandle, onBytes?: (bytes: number) => void, target?: FileHandle): Promise<Digest> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let bytes = 0;
  for (;;) {
    const { bytesRead } = await source.read(buffer, 0, CHUNK_BYTES);
    if (bytesRead === 0) return { bytes, sha256: hash.digest('hex') };
    const chunk = buffer.subarray(0, bytesRead);
    hash.update(chunk);
    await target?.writeFile(chunk);
    bytes += bytesRead;
    onBytes?.(bytes);
  }
}
