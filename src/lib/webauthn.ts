import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto';
import { isIP } from 'node:net';
import { equalsInConstantTime } from './constant-time.ts';

// Passkeys by W3C Web Authentication Level 3, sections 7.1 and 7.2, without attestation. All bytes are texts in
// base64url, as forms send them and as columns store them.

/** Whether the authenticator must check that it is its user, by a PIN or a fingerprint. */
export type UserVerification = 'required' | 'preferred' | 'discouraged';

/** The site and the challenge that a response of a browser must be for. */
export interface Ceremony {
  /** At least 16 random bytes, for one ceremony. The caller stores it, and deletes it with the first response. */
  readonly challenge: string;
  /** The host of the site; see `passkeyHostOf`. */
  readonly rpId: string;
  readonly origin: string;
  readonly userVerification: UserVerification;
}

/** A passkey, as it is stored. */
export interface Passkey {
  /** Unique among all passkeys of all users: reject a registration whose id is stored already. */
  readonly credentialId: string;
  /** DER of SubjectPublicKeyInfo. */
  readonly publicKey: string;
  /** A COSE algorithm. */
  readonly algorithm: number;
  /** The number of signatures at the latest use; 0 if the authenticator does not count them. */
  readonly signCount: number;
  /** Whether it is copied to other devices of its user. */
  readonly backedUp: boolean;
}

/** Why a response is rejected. The names are for logs: to the user, all of them mean to try again. */
export type PasskeyFault =
  | 'client data'
  | 'type'
  | 'challenge'
  | 'origin'
  | 'cross-origin'
  | 'authenticator data'
  | 'host'
  | 'user presence'
  | 'user verification'
  | 'algorithm'
  | 'public key'
  | 'signature'
  | 'signature counter';

interface Algorithm {
  readonly digest: string | null;
  readonly fits: (key: KeyObject) => boolean;
}

/** The accepted algorithms by their COSE numbers, the preferred ones first. */
const ALGORITHMS = new Map<number, Algorithm>([
  [-7, { digest: 'sha256', fits: key => key.asymmetricKeyDetails?.namedCurve === 'prime256v1' }],
  [-8, { digest: null, fits: key => key.asymmetricKeyType === 'ed25519' }],
  [-257, { digest: 'sha256', fits: isFastRsaKey }],
]);

const TIMEOUT_MS = 300_000;
/** The maximum sizes in bytes. */
const CLIENT_DATA_MAX = 4096;
const AUTHENTICATOR_DATA_MAX = 4096;
const PUBLIC_KEY_MAX = 1024;
const SIGNATURE_MAX = 1024;
const CREDENTIAL_ID_MAX = 1023;

/**
 * Returns the host for which browsers create passkeys: that of the public URL; `undefined` if they create none there,
 * because it is an IP address, or has plain HTTP and is not `localhost`.
 */
export function passkeyHostOf(publicUrl: string): string | undefined {
  const url = URL.parse(publicUrl);
  if (url === null || (url.protocol !== 'https:' && !(url.protocol === 'http:' && url.hostname === 'localhost'))) {
    return undefined;
  }
  return isIP(url.hostname) !== 0 || url.hostname.startsWith('[') ? undefined : url.hostname;
}

/**
 * Returns the options of `navigator.credentials.create()` as JSON (`PublicKeyCredentialCreationOptionsJSON`).
 * @param user.id at most 64 bytes, the same for all passkeys of a user; an authenticator keeps one passkey for each id
 * @param existing the credential ids of the user, so that an authenticator is not registered twice
 */
export function creationOptions(
  { challenge, rpId, userVerification }: Omit<Ceremony, 'origin'>,
  {
    siteName,
    user,
    existing,
  }: {
    readonly siteName: string;
    readonly user: { readonly id: string; readonly name: string; readonly displayName: string };
    readonly existing: readonly string[];
  },
) {
  return {
    rp: { id: rpId, name: siteName },
    user,
    challenge,
    pubKeyCredParams: [...ALGORITHMS.keys()].map(alg => ({ type: 'public-key', alg })),
    timeout: TIMEOUT_MS,
    excludeCredentials: existing.map(id => ({ type: 'public-key', id })),
    authenticatorSelection: { residentKey: 'preferred', userVerification },
    attestation: 'none',
  };
}

/**
 * Returns the options of `navigator.credentials.get()` as JSON (`PublicKeyCredentialRequestOptionsJSON`).
 * @param credentialIds the passkeys of the user; none if the browser shall ask which passkey, and so which user
 */
export function requestOptions(
  { challenge, rpId, userVerification }: Omit<Ceremony, 'origin'>,
  credentialIds: readonly string[],
) {
  return {
    challenge,
    rpId,
    timeout: TIMEOUT_MS,
    allowCredentials: credentialIds.map(id => ({ type: 'public-key', id })),
    userVerification,
  };
}

/**
 * Verifies what a browser created. Returns the passkey to store, or the first fault. Never throws.
 *
 * The public key is the one that the browser gives beside the authenticator data, and is not compared with the one in
 * them: without attestation both are only what the user says, and a wrong one locks out nobody else.
 */
export function verifyRegistration(
  response: {
    readonly clientDataJSON: string;
    readonly authenticatorData: string;
    readonly publicKey: string;
    readonly algorithm: string;
  },
  ceremony: Ceremony,
): Passkey | PasskeyFault {
  const clientData = bytesOf(response.clientDataJSON, CLIENT_DATA_MAX);
  const data = parseAuthenticatorData(response.authenticatorData);
  const fault = clientDataFault(clientData, 'webauthn.create', ceremony) ?? authenticatorFault(data, ceremony);
  if (fault !== undefined) return fault;
  if (data?.credentialId === undefined) return 'authenticator data';
  const algorithm = Number(response.algorithm);
  if (!ALGORITHMS.has(algorithm)) return 'algorithm';
  const key = publicKeyOf(response.publicKey, algorithm);
  if (key === undefined) return 'public key';
  return {
    credentialId: data.credentialId.toString('base64url'),
    // Written anew, so that nothing beside the key is stored.
    publicKey: key.export({ type: 'spki', format: 'der' }).toString('base64url'),
    algorithm,
    signCount: data.signCount,
    backedUp: data.backedUp,
  };
}

/**
 * Verifies that a browser signed with a passkey. Returns what has changed of the passkey, to be stored, or the first
 * fault. Never throws.
 * @param passkey the stored passkey with the credential id of the response
 */
export function verifyAssertion(
  response: { readonly clientDataJSON: string; readonly authenticatorData: string; readonly signature: string },
  passkey: Pick<Passkey, 'publicKey' | 'algorithm' | 'signCount'>,
  ceremony: Ceremony,
): Pick<Passkey, 'signCount' | 'backedUp'> | PasskeyFault {
  const clientData = bytesOf(response.clientDataJSON, CLIENT_DATA_MAX);
  const data = parseAuthenticatorData(response.authenticatorData);
  const fault = clientDataFault(clientData, 'webauthn.get', ceremony) ?? authenticatorFault(data, ceremony);
  if (fault !== undefined) return fault;
  if (clientData === undefined || data === undefined) return 'authenticator data';
  const key = publicKeyOf(passkey.publicKey, passkey.algorithm);
  if (key === undefined) return 'public key';
  const signature = bytesOf(response.signature, SIGNATURE_MAX);
  const signed = Buffer.concat([data.bytes, hash('sha256', clientData, 'buffer')]);
  const { digest } = ALGORITHMS.get(passkey.algorithm)!;
  if (signature === undefined || !verify(digest, signed, key, signature)) return 'signature';
  // A counter that does not grow means that the passkey was copied out of its authenticator.
  if (Math.max(data.signCount, passkey.signCount) > 0 && data.signCount <= passkey.signCount)
    return 'signature counter';
  return { signCount: data.signCount, backedUp: data.backedUp };
}

/** Returns the bytes of a text in base64url; `undefined` if they are too many. */
function bytesOf(text: string, lengthMax: number): Buffer | undefined {
  return text.length > Math.ceil((4 * lengthMax) / 3) ? undefined : Buffer.from(text, 'base64url');
}

function clientDataFault(
  bytes: Buffer | undefined,
  type: 'webauthn.create' | 'webauthn.get',
  { challenge, origin }: Ceremony,
): PasskeyFault | undefined {
  const data = bytes && parseJsonObject(bytes);
  if (data === undefined) return 'client data';
  if (data['type'] !== type) return 'type';
  if (typeof data['challenge'] !== 'string' || !equalsInConstantTime(data['challenge'], challenge)) return 'challenge';
  if (data['origin'] !== origin) return 'origin';
  // The page was in a frame of another site.
  if ((data['crossOrigin'] ?? false) !== false || data['topOrigin'] !== undefined) return 'cross-origin';
  return undefined;
}

function parseJsonObject(bytes: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

interface AuthenticatorData {
  readonly bytes: Buffer;
  readonly rpIdHash: Buffer;
  readonly isUserPresent: boolean;
  readonly isUserVerified: boolean;
  readonly backedUp: boolean;
  readonly signCount: number;
  /** Present in a registration. */
  readonly credentialId: Buffer | undefined;
}

/** The flags of authenticator data. */
const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const BACKUP_ELIGIBLE = 0x08;
const BACKED_UP = 0x10;
const HAS_CREDENTIAL = 0x40;
const HAS_EXTENSIONS = 0x80;

/** The lengths of authenticator data in bytes: of a hash, flags and a counter, and of the model of an authenticator. */
const HEAD_LENGTH = 37;
const AAGUID_LENGTH = 16;

function parseAuthenticatorData(text: string): AuthenticatorData | undefined {
  const bytes = bytesOf(text, AUTHENTICATOR_DATA_MAX);
  if (bytes === undefined || bytes.length < HEAD_LENGTH) return undefined;
  const flags = bytes[32]!;
  const has = (flag: number) => (flags & flag) !== 0;
  const credentialId = has(HAS_CREDENTIAL) ? credentialIdIn(bytes.subarray(HEAD_LENGTH)) : undefined;
  const isWhole = has(HAS_CREDENTIAL) ? credentialId !== undefined : has(HAS_EXTENSIONS) === bytes.length > HEAD_LENGTH;
  if (!isWhole || (has(BACKED_UP) && !has(BACKUP_ELIGIBLE))) return undefined;
  return {
    bytes,
    rpIdHash: bytes.subarray(0, 32),
    isUserPresent: has(USER_PRESENT),
    isUserVerified: has(USER_VERIFIED),
    backedUp: has(BACKED_UP),
    signCount: bytes.readUInt32BE(33),
    credentialId,
  };
}

/** Returns the credential id, which the public key in COSE follows. */
function credentialIdIn(attested: Buffer): Buffer | undefined {
  const start = AAGUID_LENGTH + 2;
  if (attested.length < start) return undefined;
  const end = start + attested.readUInt16BE(AAGUID_LENGTH);
  const isValid = end > start && end - start <= CREDENTIAL_ID_MAX && attested.length > end;
  return isValid ? attested.subarray(start, end) : undefined;
}

function authenticatorFault(
  data: AuthenticatorData | undefined,
  { rpId, userVerification }: Ceremony,
): PasskeyFault | undefined {
  if (data === undefined) return 'authenticator data';
  if (!data.rpIdHash.equals(hash('sha256', rpId, 'buffer'))) return 'host';
  if (!data.isUserPresent) return 'user presence';
  if (userVerification === 'required' && !data.isUserVerified) return 'user verification';
  return undefined;
}

/** Returns a public key of an accepted algorithm; `undefined` if it is none. */
function publicKeyOf(text: string, algorithm: number): KeyObject | undefined {
  const bytes = bytesOf(text, PUBLIC_KEY_MAX);
  if (bytes === undefined) return undefined;
  try {
    const key = createPublicKey({ key: bytes, format: 'der', type: 'spki' });
    return ALGORITHMS.get(algorithm)?.fits(key) ? key : undefined;
  } catch {
    return undefined;
  }
}

/** Reports whether a key is one of RSA as authenticators create them. Another exponent could make each check slow. */
function isFastRsaKey({ asymmetricKeyType, asymmetricKeyDetails: details = {} }: KeyObject): boolean {
  const { modulusLength = 0, publicExponent } = details;
  return asymmetricKeyType === 'rsa' && modulusLength >= 2048 && modulusLength <= 4096 && publicExponent === 65537n;
}
