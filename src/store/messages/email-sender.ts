import { domainToASCII } from 'node:url';
import type { EmailFault } from '../../model/message.ts';

/** An e-mail to send. */
export interface Email {
  /** The same for every attempt, so that mail programs can recognize a duplicate. */
  readonly id: string;
  readonly to: readonly string[];
  readonly replyTo: string | null;
  readonly subject: string;
  readonly text: string;
  /** When the message was written, in milliseconds since the Unix epoch. */
  readonly at: number;
  /** The page on which the recipient stops further e-mails, also with one click (RFC 8058). */
  readonly stopUrl?: string;
  /** Whether no person wrote it, although it has a `stopUrl`, so that mail programs do not answer by themselves. */
  readonly isAutomatic?: true;
}

/** The failure of an e-mail that was not sent, or not to every recipient. */
export interface EmailFailure {
  readonly reason: EmailFault;
  /** Whether another attempt is pointless. */
  readonly final: boolean;
  /** The recipients that another attempt may reach, if the server accepted others; absent if it accepted none. */
  readonly deferred?: readonly string[];
  /** The codes of the mail server, without its text, which may contain addresses. */
  readonly detail: string;
}

/** Sends e-mail. */
export interface EmailSender {
  /**
   * Sends an e-mail to the mail server. Returns `undefined` if the server accepted it for every recipient, otherwise
   * the failure. Ends within two minutes; never throws.
   */
  send(email: Email): Promise<EmailFailure | undefined>;
}

/** The mail server, and the sender of the e-mails. */
export interface EmailSettings {
  /** `smtp://…` or `smtps://…`, with credentials if the server needs them. */
  readonly url: string;
  readonly from: string;
}

/** The time limit of one e-mail. If a client gives up early, a slow mail server may deliver the e-mail twice. */
const SENDING_MS = 120_000;

/** Creates a sender for the mail server at `url`. Each e-mail uses a separate connection. */
export async function openEmailSender({ url, from }: EmailSettings): Promise<EmailSender> {
  const { createTransport } = await import('nodemailer');
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === 'smtps:';
  const host = hostname.replace(/^\[|\]$/g, '');
  const transport = createTransport({
    host,
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    // Send a password over the network only under TLS.
    requireTLS: username !== '' && !/^(localhost|127\.[\d.]+|::1)$/.test(host),
    ...(username !== '' && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 60_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  });

  return {
    async send({ id, to, replyTo, subject, text, at, stopUrl, isAutomatic }) {
      const signal = AbortSignal.timeout(SENDING_MS);
      try {
        const { rejectedErrors = [] } = await transport.sendMail({
          messageId: `<${id}@${from.slice(from.lastIndexOf('@') + 1)}>`,
          from: { name: 'Pet Store', address: from },
          to: to.map(address => ({ name: '', address })),
          ...(replyTo !== null && { replyTo: { name: '', address: replyTo } }),
          subject,
          date: new Date(at),
          text,
          textEncoding: 'quoted-printable',
          headers: {
            ...((stopUrl === undefined || isAutomatic) && { 'Auto-Submitted': 'auto-generated' }),
            ...(stopUrl !== undefined && {
              'List-Unsubscribe': `<${stopUrl}>`,
              'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
            }),
          },
          signal,
        });
        return rejectedErrors.length === 0 ? undefined : partialFailureOf(rejectedErrors, to);
      } catch (error) {
        return failureOf(error as SmtpError, signal.aborted);
      }
    },
  };
}

/** The members of a nodemailer error. */
interface SmtpError {
  readonly code?: unknown;
  readonly responseCode?: unknown;
  /** The failed SMTP command. */
  readonly command?: unknown;
  readonly recipient?: unknown;
}

/** A 5xx about a recipient or the content is final; one about the sender may be temporary. */
function failureOf({ code, responseCode, command }: SmtpError, timedOut: boolean): EmailFailure {
  const detail = [code, responseCode].filter(one => one !== undefined).join(' ');
  if (timedOut || code === 'ETIMEDOUT') return { reason: 'timeout', final: false, detail };
  if (typeof responseCode !== 'number') return { reason: 'unreachable', final: false, detail };
  if (responseCode < 500) return { reason: 'postponed', final: false, detail };
  const final = (code === 'EENVELOPE' || code === 'EMESSAGE') && command !== 'MAIL FROM';
  return { reason: 'refused', final, detail };
}

/**
 * Returns the failure of an e-mail that the server accepted only for some recipients; it deferred the others with a
 * 4xx.
 */
function partialFailureOf(errors: readonly SmtpError[], to: readonly string[]): EmailFailure {
  const failures = errors.map(error => ({
    ...failureOf(error, false),
    address: normalizeAddress(String(error.recipient)),
  }));
  const temporary = failures.filter(({ final }) => !final);
  const { reason, final, detail } = temporary[0] ?? failures[0]!;
  const addresses = new Set(temporary.map(({ address }) => address));
  return { reason, final, detail, deferred: to.filter(address => addresses.has(normalizeAddress(address))) };
}

/** Returns an address in nodemailer's spelling. */
function normalizeAddress(address: string): string {
  const at = address.lastIndexOf('@');
  return `${address.slice(0, at)}@${domainToASCII(address.slice(at + 1))}`.toLowerCase();
}
