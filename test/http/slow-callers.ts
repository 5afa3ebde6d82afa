import { connect, type Socket } from 'node:net';

/**
 * Opens slow connections to a service: a third sends headers slowly, a third sends a body slowly, a third stays idle.
 * Run as a program with the arguments port, count, key.
 *
 * Prints `open` once all are open. When its standard input ends, prints one line of JSON with the status codes for
 * each kind and the seconds until they arrived.
 */
const [port = 0, count = 0] = process.argv.slice(2, 4).map(Number);
const key = process.argv[4];

const kinds = ['headers', 'body', 'idle'] as const;
const begun = {
  headers: 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-Slow: ',
  body: `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"name":"`,
  idle: '',
};
const TRICKLE_MS = 4000;

const ends: Record<(typeof kinds)[number], { status: number; seconds: number }[]> = { headers: [], body: [], idle: [] };
const slow = new Set<Socket>();

let opened = 0;
let next = 0;
for (let together = 0; together < 100; together++) openNext();

function openNext(): void {
  if (next >= count) return;
  const kind = kinds[next++ % kinds.length]!;
  const from = performance.now();
  const socket = connect(port, '127.0.0.1');
  let status = 0;
  socket.on('connect', () => {
    socket.write(begun[kind]);
    if (kind !== 'idle') slow.add(socket);
    if (++opened === count) process.stdout.write('open\n');
    openNext();
  });
  socket.on('data', part => {
    status ||= Number(/^HTTP\/1\.1 (\d{3})/.exec(part.toString('latin1'))?.[1] ?? 0);
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    slow.delete(socket);
    ends[kind].push({ status, seconds: (performance.now() - from) / 1000 });
  });
}

// Spread over the interval, as for independent callers.
let turn = 0;
setInterval(() => {
  turn++;
  let index = 0;
  for (const socket of slow) if (index++ % 40 === turn % 40 && socket.writable) socket.write('x');
}, TRICKLE_MS / 40);

process.stdin.resume().on('end', () => {
  process.stdout.write(`${JSON.stringify(ends)}\n`, () => process.exit(0));
});
