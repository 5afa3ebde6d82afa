import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Encrypts secrets that must be readable again. */
export type Encryptor = ReturnType<typeof createEncryptor>;

/** Returns an encryptor with one key of 32 bytes: AES-256-GCM, a random 96-bit nonce, the owner as associated data. */
export function createEncryptor(key: Buffer) {
  return {
    /**
     * Encrypts a secret for storage.
     * @param owner names the row that stores it, such as `webhook 7`; the text cannot be decrypted for another owner
     */
    encrypt(secret: Buffer, owner: string): string {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(owner));
      const ciphertext = Buffer.concat([cipher.update(secret), cipher.final()]);
      return [VERSION, ...[nonce, cipher.getAuthTag(), ciphertext].map(part => part.toString('base64url'))].join('.');
    },
    /** Decrypts a stored secret. Throws if it was encrypted with another key or for another owner, or was changed. */
    decrypt(text: string, owner: string): Buffer {
      const [version, ...parts] = text.split('.');
      const [nonce, tag, ciphertext] = parts.map(part => Buffer.from(part, 'base64url'));
      if (version !== VERSION || nonce === undefined || tag?.length !== TAG_BYTES || ciphertext === undefined) {
        throw new Error('The text is not an encrypted secret.');
      }
      const decipher = createDecipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(owner)).setAuthTag(tag);
      return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
    },
  };
}

const VERSION = '1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
