import { type DestinationStream, pino } from 'pino';

/** The log for operators: one JSON object per line, without secrets. */
export interface Log {
  info(message: string): void;
  info(fields: object, message: string): void;
  warn(message: string): void;
  warn(fields: object, message: string): void;
  error(message: string): void;
  /** Logs an error; pass it as the field `err`, which includes its stack. */
  error(fields: object, message: string): void;
}

/** The least severe level that a log writes. */
export type LogLevel = 'error' | 'warn' | 'info';

/**
 * Opens a log on standard error, or on `destination`, which receives whole lines. Writes are synchronous, so that no
 * line is lost when the process ends. Every line is redacted.
 */
export function openLog({
  level = 'info',
  destination = standardError(),
}: {
  readonly level?: LogLevel | undefined;
  readonly destination?: DestinationStream;
} = {}): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: name => ({ level: name }) } },
    { write: line => destination.write(redact(line)) },
  );
}

/** Removes secrets: API keys keep only their public id; `Authorization` headers and passwords in URLs are removed. */
export function redact(text: string): string {
  return text
    .replace(/(petstore_(?:live|test)_[0-9A-Za-z]{12})_?[0-9A-Za-z_]+/g, '$1_[redacted]')
    .replace(/("(?:proxy-)?authorization":)"(?:[^"\\]|\\.)*"/gi, '$1"[redacted]"')
    .replace(/\b(Bearer +)[^\s"'\\]+/gi, '$1[redacted]')
    .replace(/(\b[a-z][a-z\d+.-]*:\/\/)[^\s"'/@\\]*@/gi, '$1[redacted]@');
}

function standardError(): DestinationStream {
  const stream = pino.destination({ dest: 2, sync: true });
  // The reader of the log has closed it; the server continues without it.
  stream.on('error', () => {});
  return stream;
}
