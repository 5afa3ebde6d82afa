import { countedAddress } from '../../access/limits/address.ts';
import {
  type AttemptLimit,
  attemptLimits,
  countAttempt,
  forgetAttempts,
  mailboxSubject,
  siteSubject,
  tooManyAttempts,
} from '../../access/sessions/attempts.ts';
import { hashSecret } from '../../access/sessions/session.ts';
import { isEmail } from '../../lib/email.ts';
import { countText, nameError } from '../../lib/text.ts';
import { DAY_MS } from '../../lib/time.ts';
import { type MessageRow, textError } from '../../model/message.ts';
import { type Params, query, type Reader, retentionRule, type Transaction } from '../../model/schema.ts';
import { sendVisitorMessage } from '../messages/messages.ts';
import { getPet } from '../pets/pets.ts';

/** A message of a visitor about an animal. */
interface VisitorMessage {
  readonly petId: number;
  readonly name: string;
  /** The address for replies. */
  readonly email: string;
  readonly text: string;
}

/** The maximum length in code points: with its introduction, a message stays below the bound of all messages. */
export const VISITOR_TEXT_LENGTH_MAX = 2000;
/** How long a message waits for the confirmation of its e-mail address. */
export const WAITING_MS = 2 * DAY_MS;

/** Returns the errors of a message, as a sentence per field, without members for valid fields. */
export function visitorMessageErrors({ name, email, text }: Omit<VisitorMessage, 'petId'>) {
  const isLong = [...text].length > VISITOR_TEXT_LENGTH_MAX;
  const ofName = name === '' ? 'must not be empty' : nameError(name);
  const ofText = isLong ? `must have at most ${countText(VISITOR_TEXT_LENGTH_MAX)} characters` : textError(text);
  return {
    ...(ofName !== undefined && { name: `Your name ${ofName}.` }),
    ...(!isEmail(email) && { email: 'Write an e-mail address like name@example.org.' }),
    ...(ofText !== undefined && { text: `Your message ${ofText}.` }),
  };
}

/** A message, and the IP address of its sender. */
interface SentMessage {
  readonly address: string;
  readonly message: VisitorMessage;
}

/**
 * Sends a message to the owner of an animal immediately. The text says that the reply address is not confirmed.
 * @throws {Problem} `pet_not_found`; `too_many_attempts` by network, then by owner
 */
export async function sendUnconfirmed(tx: Transaction, { message, address }: SentMessage): Promise<MessageRow> {
  const owner = await ownerOf(tx, message);
  await requireAttempts(tx, [...networkLimits(address, owner), [attemptLimits.askOwnerUnconfirmed, owner, BUSY_OWNER]]);
  return send(tx, message, false);
}

/**
 * Stores a message until its e-mail address is confirmed, for at most two days. The job `visitor_emails` sends the
 * link.
 * @param url the public URL of the pages, without a trailing slash
 * @throws {Problem} `pet_not_found`; `too_many_attempts` by network, then by e-mail address, then in total
 */
export async function keepUntilConfirmed(
  tx: Transaction,
  { message, address }: SentMessage,
  url: string,
): Promise<void> {
  await requireAttempts(tx, [
    ...networkLimits(address, await ownerOf(tx, message)),
    [
      attemptLimits.askByEmail,
      mailboxSubject(message.email),
      'This e-mail address got too many links that nobody opened.',
    ],
    [
      attemptLimits.askWaiting,
      '',
      'Too many messages of visitors wait for confirmation. Sign in to send your message now.',
    ],
  ]);
  await tx.run(insertMessage, { ...message, url, now: tx.now, expiresAt: tx.now + WAITING_MS });
}

/**
 * Returns the message that a link confirms, without sending it; `undefined` if it was sent, has expired or never
 * existed.
 */
export async function findWaiting(reader: Reader, secret: string, now: number): Promise<VisitorMessage | undefined> {
  const found = await reader.first(messageByHash, { hash: hashSecret(secret) });
  return found !== undefined && found.expiresAt > now ? found : undefined;
}

/**
 * Sends the message that a link confirms, and resets the limit of its e-mail address. Returns it; `undefined` if it was
 * sent, has expired or never existed.
 * @throws {Problem} `pet_not_found`, `too_many_attempts` by owner: the message continues to wait
 */
export async function sendConfirmed(tx: Transaction, secret: string): Promise<VisitorMessage | undefined> {
  const message = await tx.first(deleteByHash, { hash: hashSecret(secret), now: tx.now });
  if (message === undefined) return undefined;
  await requireAttempts(tx, [[attemptLimits.askOwnerConfirmed, await ownerOf(tx, message), BUSY_OWNER]]);
  await forgetAttempts(tx, attemptLimits.askByEmail, mailboxSubject(message.email));
  await send(tx, message, true);
  return message;
}

/** Deletes messages whose address was not confirmed in time; a retention rule. */
export const deleteUnconfirmed = retentionRule('visitor_messages', ['id'], 'expires_at');

/** A limit, its subject, and the reason for a visitor who reaches it. */
type CountedLimit = readonly [limit: AttemptLimit, subject: string, reason: string];

/**
 * Returns the limits of the sender's network. They are checked first, so that a few networks cannot use up the shared
 * limits.
 */
function networkLimits(address: string, owner: string): CountedLimit[] {
  const network = countedAddress(address);
  const site = siteSubject(address);
  const tooMany = 'Too many messages were sent from your network.';
  return [
    [
      attemptLimits.askOwnerFromAddress,
      `${network} ${owner}`,
      'Too many messages to this owner were sent from your network.',
    ],
    [attemptLimits.askFromAddress, network, tooMany],
    [attemptLimits.askFromAddressDaily, network, tooMany],
    ...(site === undefined ? [] : [[attemptLimits.askFromSite, site, tooMany] as const]),
  ];
}

const BUSY_OWNER = 'The owner of this animal got too many messages from visitors.';

/** Counts attempts. An error rolls back the counts of this transaction, except those at their limit. */
async function requireAttempts(tx: Transaction, limits: readonly CountedLimit[]): Promise<void> {
  for (const [limit, subject, reason] of limits) {
    const waitMs = await countAttempt(tx, limit, subject);
    if (waitMs > 0) throw tooManyAttempts(waitMs, reason);
  }
}

async function ownerOf(tx: Transaction, { petId }: VisitorMessage): Promise<string> {
  return String((await getPet(tx, petId, tx.now)).accountId);
}

const CONFIRMED = 'The visitor has confirmed the e-mail address.';

/** Sends a message. Its first paragraph contains no text that the visitor typed, so that visitors cannot imitate it. */
function send(tx: Transaction, { petId, name, email, text }: VisitorMessage, isConfirmed: boolean) {
  const state = isConfirmed ? CONFIRMED : 'Nobody has confirmed the e-mail address.';
  const introduction = `A visitor sent this from the page of animal ${petId}. ${state} The visitor wrote all of the following text.`;
  return sendVisitorMessage(tx, { petId, replyTo: email, message: `${introduction}\n\n${name} <${email}>\n\n${text}` });
}

/** The parts of a message that a visitor sent from the page of an animal. */
export interface VisitorParts {
  /** The name that the visitor typed. */
  readonly name: string;
  readonly text: string;
  /** Whether the visitor has confirmed the e-mail address, which is the `replyTo` of the message. */
  readonly isConfirmed: boolean;
}

/** Returns the parts of a message; `undefined` if no visitor sent it. */
export function visitorPartsOf({ accountId, petId, replyTo, message }: MessageRow): VisitorParts | undefined {
  if (accountId !== null || petId === null) return undefined;
  const [introduction = '', sender = '', ...text] = message.split('\n\n');
  const address = ` <${replyTo}>`;
  if (!sender.endsWith(address)) return undefined;
  const isConfirmed = introduction.includes(CONFIRMED);
  return { name: sender.slice(0, -address.length), text: text.join('\n\n'), isConfirmed };
}

/** Returns the text that the sender wrote, without our introduction to those of visitors. */
export function writtenTextOf(message: MessageRow): string {
  return visitorPartsOf(message)?.text ?? message.message;
}

const columns = ['id', 'pet_id as petId', 'name', 'email', 'text', 'expires_at as expiresAt'] as const;

const insertMessage = query((db, p: Params<VisitorMessage & { url: string; now: number; expiresAt: number }>) =>
  db.insertInto('visitor_messages').values({
    pet_id: p.petId,
    name: p.name,
    email: p.email,
    text: p.text,
    url: p.url,
    created_at: p.now,
    expires_at: p.expiresAt,
    due_at: p.now,
  }),
);

const messageByHash = query((db, p: Params<{ hash: string }>) =>
  db.selectFrom('visitor_messages').select(columns).where('hash', '=', p.hash),
);

const deleteByHash = query((db, p: Params<{ hash: string; now: number }>) =>
  db.deleteFrom('visitor_messages').where('hash', '=', p.hash).where('expires_at', '>', p.now).returning(columns),
);
