import type { IncomingMessage } from 'node:http';
import { BYTES_PER_SECOND_MIN } from './upload-rate.ts';

/** How often the rate is measured. */
const PERIOD_MS = 5000;
const PERIODS_MAX = 24;

/**
 * Limits how long the rest of a request body is read after the response: while at least 2 KiB/s arrive, for at most two
 * minutes. Browsers read a response only after they have sent the whole body. The caller resumes the request.
 * @param close closes the connection
 */
export function limitRest(request: IncomingMessage, close: () => void): void {
  const { socket } = request;
  let bytesBefore = socket.bytesRead;
  let periods = 0;
  const timer = setInterval(() => {
    const bytes = socket.bytesRead - bytesBefore;
    bytesBefore = socket.bytesRead;
    const goesOn = !request.complete && !socket.destroyed;
    if (goesOn && bytes >= (BYTES_PER_SECOND_MIN * PERIOD_MS) / 1000 && ++periods < PERIODS_MAX) return;
    clearInterval(timer);
    if (goesOn) close();
  }, PERIOD_MS).unref();
}
