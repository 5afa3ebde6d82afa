import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Encrypts secrets that must be readable again. */
export interface Encryptor {
  /**
   * Encrypts a secret for storage.
   * @param owner names the row that stores it, such as `webhook 7`; the text cannot be decrypted for another owner
   */
  encrypt(secret: Buffer, owner: string): string;
  /**
   * Decrypts a stored secret, also if it was encrypted with the previous key. Throws if it was encrypted with another
   * key or for another owner, or was changed.
   */
  decrypt(text: string, owner: string): Buffer;
  /** The encryptor with only the previous key, while the key is being changed. */
  readonly previous?: Encryptor | undefined;
}

/**
 * Returns an encryptor with a key of 32 bytes: AES-256-GCM, a random 96-bit nonce, the owner as associated data.
 * @param previousKey also decrypts
 */
export function createEncryptor(key: Buffer, previousKey?: Buffer): Encryptor {
  const previous = previousKey && createEncryptor(previousKey);
  return {
    previous,
    encrypt(secret, owner) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(owner));
      const ciphertext = Buffer.concat([cipher.update(secret), cipher.final()]);
      return [VERSION, ...[nonce, cipher.getAuthTag(), ciphertext].map(part => part.toString('base64url'))].join('.');
    },
    decrypt(text, owner) {
      const [version, ...parts] = text.split('.');
      const [nonce, tag, ciphertext] = parts.map(part => Buffer.from(part, 'base64url'));
      if (version !== VERSION || nonce === undefined || tag?.length !== TAG_BYTES || ciphertext === undefined) {
        throw new Error('The text is not an encrypted secret.');
      }
      const decipher = createDecipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(owner)).setAuthTag(tag);
      try {
        return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
      } catch (error) {
        if (previous === undefined) throw error;
        return previous.decrypt(text, owner);
      }
    },
  };
}

const VERSION = '1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
