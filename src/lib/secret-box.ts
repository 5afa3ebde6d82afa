import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Keeps secrets that must be readable again. */
export interface SecretBox {
  /**
   * A secret as it may be stored: encrypted, and good for one place alone.
   * @param place where it is stored, such as `webhook 7`: it cannot be opened as that of another place
   */
  seal(secret: Buffer, place: string): string;
  /**
   * The secret again.
   * @throws when it was sealed with another key or for another place, or was changed
   */
  open(sealed: string, place: string): Buffer;
}

/**
 * A box that one key opens (AES-256-GCM with a random nonce of 96 bits).
 * @param key 32 bytes
 */
export function secretBox(key: Buffer): SecretBox {
  return {
    seal(secret, place) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(place));
      const hidden = Buffer.concat([cipher.update(secret), cipher.final()]);
      return [VERSION, nonce, cipher.getAuthTag(), hidden]
        .map(part => (typeof part === 'string' ? part : part.toString('base64url')))
        .join('.');
    },
    open(sealed, place) {
      const [version, ...parts] = sealed.split('.');
      const [nonce, tag, hidden] = parts.map(part => Buffer.from(part, 'base64url'));
      if (version !== VERSION || nonce === undefined || tag?.length !== TAG_BYTES || hidden === undefined) {
        throw new Error('This is no sealed secret.');
      }
      const decipher = createDecipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(place)).setAuthTag(tag);
      return Buffer.concat([decipher.update(hidden), decipher.final()]);
    },
  };
}

const VERSION = '1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
