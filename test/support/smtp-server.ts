import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

/** A received mail. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers by lower-case name, with folded lines joined. */
  readonly headers: ReadonlyMap<string, string>;
  /** The header lines as received. */
  readonly headerLines: readonly string[];
  /** The decoded text. */
  readonly text: string;
}

/** Responses that differ from the default, by step of the conversation. */
export interface Behaviour {
  /** Replaces the greeting; `'silence'` sends none. */
  greeting?: string | undefined;
  /** Responds to MAIL FROM. */
  sender?: string | undefined;
  /** Responds to RCPT TO, for every address or by address. */
  recipient?: string | ((address: string) => string | undefined) | undefined;
  /** Responds to a message; `'die'` stores it and closes the connection without a response. */
  message?: string | undefined;
  /** Called with each stored mail before the response. */
  kept?: ((mail: ReceivedMail) => void) | undefined;
}

/** A mail server on this machine. */
export interface SmtpServer {
  readonly url: string;
  readonly mails: readonly ReceivedMail[];
  /** Its current behavior. */
  behaviour: Behaviour;
  /** The number of connections. */
  readonly connections: number;
  /** The decoded credentials that clients sent. */
  readonly logins: readonly string[];
  close(): Promise<void>;
}

/** Starts a mail server with the part of SMTP that sending a mail needs, and AUTH PLAIN if `login` is given. */
export async function startSmtpServer({
  login,
  port = 0,
}: {
  login?: string;
  port?: number;
} = {}): Promise<SmtpServer> {
  const mails: ReceivedMail[] = [];
  const logins: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer(socket => {
    connections++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    converse(socket);
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');

  const { port: taken } = server.address() as { port: number };
  const name = login === undefined ? '' : `${login.split(':').map(encodeURIComponent).join(':')}@`;
  const started: SmtpServer = {
    url: `smtp://${name}127.0.0.1:${taken}`,
    mails,
    logins,
    behaviour: {},
    get connections() {
      return connections;
    },
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
  return started;

  function converse(socket: Socket): void {
    const say = (line: string) => socket.write(`${line}\r\n`);
    let from = '';
    let to: string[] = [];
    let data: string | undefined;
    let rest = '';
    if (started.behaviour.greeting === 'silence') return;
    say(started.behaviour.greeting ?? '220 mail.test ESMTP');
    socket.setEncoding('utf8').on('data', (part: string) => {
      rest += part;
      for (;;) {
        const end = rest.indexOf('\r\n');
        if (end < 0) return;
        const line = rest.slice(0, end);
        rest = rest.slice(end + 2);
        if (data === undefined) command(line);
        else if (line !== '.') data += `${line.startsWith('.') ? line.slice(1) : line}\r\n`;
        else whole();
      }
    });

    function command(line: string): void {
      const verb = line.split(' ')[0]!.toUpperCase();
      if (verb === 'EHLO') {
        say('250-mail.test');
        if (login !== undefined) say('250-AUTH PLAIN');
        say('250 8BITMIME');
      } else if (verb === 'AUTH') {
        const [, user, password] = Buffer.from(line.split(' ')[2] ?? '', 'base64')
          .toString()
          .split('\0');
        logins.push(`${user}:${password}`);
        say(`${user}:${password}` === login ? '235 welcome' : '535 no');
      } else if (verb === 'MAIL') {
        from = /<(.*?)>/.exec(line)![1]!;
        to = [];
        say(started.behaviour.sender ?? '250 ok');
      } else if (verb === 'RCPT') {
        const address = /<(.*?)>/.exec(line)![1]!;
        const { recipient } = started.behaviour;
        const answer = (typeof recipient === 'function' ? recipient(address) : recipient) ?? '250 ok';
        if (answer.startsWith('2')) to.push(address);
        say(answer);
      } else if (verb === 'DATA') {
        data = '';
        say('354 go on');
      } else if (verb === 'QUIT') {
        socket.end('221 bye\r\n');
      } else say('250 ok');
    }

    function whole(): void {
      const { message = '250 kept' } = started.behaviour;
      if (message.startsWith('2') || message === 'die') {
        const mail = mailOf(from, to, data!);
        mails.push(mail);
        started.behaviour.kept?.(mail);
      }
      data = undefined;
      if (message === 'die') socket.destroy();
      else say(message);
    }
  }
}

function mailOf(from: string, to: readonly string[], data: string): ReceivedMail {
  const end = data.indexOf('\r\n\r\n');
  const headerLines = data.slice(0, end).split('\r\n');
  const joined = data.slice(0, end).replaceAll(/\r\n[ \t]+/g, ' ');
  const headers = new Map(
    joined.split('\r\n').map(line => [line.split(':')[0]!.toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  return { from, to, headers, headerLines, text: decoded(data.slice(end + 4), headers) };
}

function decoded(body: string, headers: ReadonlyMap<string, string>): string {
  // The last line break belongs to the protocol.
  const text = body.replace(/\r\n$/, '');
  const encoding = headers.get('content-transfer-encoding');
  if (encoding === 'base64') return Buffer.from(text, 'base64').toString('utf8');
  if (encoding !== 'quoted-printable') return text;
  const bytes = text
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
