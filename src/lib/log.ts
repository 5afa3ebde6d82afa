import { type DestinationStream, pino } from 'pino';

/** What is written for operators: one JSON object a line, without secrets. */
export interface Log {
  info(message: string): void;
  info(fields: object, message: string): void;
  warn(message: string): void;
  warn(fields: object, message: string): void;
  error(message: string): void;
  /** An error goes in as the field `err`, with its stack. */
  error(fields: object, message: string): void;
}

/**
 * A log on standard error, or on `destination` (which is given whole lines), written before the call returns, so that
 * nothing is lost when the process ends.
 *
 * Secrets are taken out of every line, wherever they stand in it: API keys keep their public part alone,
 * `Authorization` headers and the passwords of URLs nothing.
 */
export function openLog(destination: DestinationStream = standardError()): Log {
  return pino(
    { base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: level => ({ level }) } },
    { write: line => destination.write(redact(line)) },
  );
}

/** A text without the secrets in it. */
export function redact(text: string): string {
  return text
    .replace(/(petstore_(?:live|test)_[0-9A-Za-z]{12})_?[0-9A-Za-z_]+/g, '$1_[redacted]')
    .replace(/("(?:proxy-)?authorization":)"(?:[^"\\]|\\.)*"/gi, '$1"[redacted]"')
    .replace(/\b(Bearer +)[^\s"'\\]+/gi, '$1[redacted]')
    .replace(/(\b[a-z][a-z\d+.-]*:\/\/)[^\s"'/@\\]*@/gi, '$1[redacted]@');
}

function standardError(): DestinationStream {
  const stream = pino.destination({ dest: 2, sync: true });
  // Whoever read the log has gone; the product goes on without.
  stream.on('error', () => {});
  return stream;
}
