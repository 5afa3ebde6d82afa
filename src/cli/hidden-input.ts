import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';

/** Asks for a line and does not show what is typed. Returns '' after Ctrl-C and Ctrl-D. */
export function readHidden(
  question: string,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: silent, terminal: true });
  // From here on the terminal does not echo.
  output.write(question);
  return new Promise<string>(resolve => {
    lines.once('line', resolve);
    lines.once('close', () => resolve(''));
  }).finally(() => {
    lines.close();
    output.write('\n');
  });
}
