import { domainToASCII } from 'node:url';
import type { MailFault } from './message-rows.ts';

/** An e-mail to send. */
export interface Mail {
  /** The same each time that it is tried, so that a mailbox can tell a copy. */
  readonly id: string;
  readonly to: readonly string[];
  readonly replyTo: string | null;
  readonly subject: string;
  readonly text: string;
  /** When it was written, in milliseconds since the Unix epoch. */
  readonly at: number;
}

/** Why a mail was not sent, or not to everybody. */
export interface MailRefusal {
  readonly reason: MailFault;
  /** Whether it makes no sense to try it again. */
  readonly final: boolean;
  /** To whom it may still be sent, where others have it; left out where nobody has. */
  readonly left?: readonly string[];
  /** What came from the mail server, without what it said: it may have addresses in it. */
  readonly detail: string;
}

/** A way to send e-mail. */
export interface Mailer {
  /**
   * Hands a mail over to the mail server; why not, or `undefined` when it has it for everybody. Ends within two minutes.
   * Never throws.
   */
  send(mail: Mail): Promise<MailRefusal | undefined>;
}

/** Where mail goes out, and who it says it is from. */
export interface MailSettings {
  /** `smtp://…` or `smtps://…`, with the name and the password where there are any. */
  readonly url: string;
  readonly from: string;
}

/** How long sending one mail may take: a mail server may think about one for long, and takes it twice from who is impatient. */
const SENDING_MS = 120_000;

/** Opens the way through the mail server at `url`. Each mail is sent on a connection of its own. */
export async function openMailer({ url, from }: MailSettings): Promise<Mailer> {
  const { createTransport } = await import('nodemailer');
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === 'smtps:';
  const host = hostname.replace(/^\[|\]$/g, '');
  const transport = createTransport({
    host,
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    // A password goes over the network under TLS alone.
    requireTLS: username !== '' && !/^(localhost|127\.[\d.]+|::1)$/.test(host),
    ...(username !== '' && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 60_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  });

  return {
    async send({ id, to, replyTo, subject, text, at }) {
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
          headers: { 'Auto-Submitted': 'auto-generated' },
          signal,
        });
        return rejectedErrors.length === 0 ? undefined : refusalOfSome(rejectedErrors, to);
      } catch (error) {
        return refusalOf(error as SmtpError, signal.aborted);
      }
    },
  };
}

/** What is known of an error of the mail library. */
interface SmtpError {
  readonly code?: unknown;
  readonly responseCode?: unknown;
  /** What it was an answer to. */
  readonly command?: unknown;
  readonly recipient?: unknown;
}

/** A mail server says 5xx of an address or a message that it will never take; what it says of us may change. */
function refusalOf({ code, responseCode, command }: SmtpError, late: boolean): MailRefusal {
  const detail = [code, responseCode].filter(one => one !== undefined).join(' ');
  if (late || code === 'ETIMEDOUT') return { reason: 'timeout', final: false, detail };
  if (typeof responseCode !== 'number') return { reason: 'unreachable', final: false, detail };
  if (responseCode < 500) return { reason: 'postponed', final: false, detail };
  const final = (code === 'EENVELOPE' || code === 'EMESSAGE') && command !== 'MAIL FROM';
  return { reason: 'refused', final, detail };
}

/** Others have it: those of whom the mail server said "not now" are left. */
function refusalOfSome(errors: readonly SmtpError[], to: readonly string[]): MailRefusal {
  const refusals = errors.map(error => ({
    ...refusalOf(error, false),
    address: plainAddress(String(error.recipient)),
  }));
  const later = refusals.filter(({ final }) => !final);
  const { reason, final, detail } = later[0] ?? refusals[0]!;
  const addresses = new Set(later.map(({ address }) => address));
  return { reason, final, detail, left: to.filter(address => addresses.has(plainAddress(address))) };
}

/** An address in the one form in which the mail library says it. */
function plainAddress(address: string): string {
  const at = address.lastIndexOf('@');
  return `${address.slice(0, at)}@${domainToASCII(address.slice(at + 1))}`.toLowerCase();
}
