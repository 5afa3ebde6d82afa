import { connect } from 'node:net';

/** The servers that some suites need, where they are looked for. */
const servers = [
  { name: 'PostgreSQL', setting: 'PETSTORE_TEST_DATABASE_URL', usual: 'postgres://postgres@127.0.0.1:5432/postgres' },
  { name: 'Valkey', setting: 'PETSTORE_TEST_VALKEY_URL', usual: 'redis://127.0.0.1:6379' },
];
const ports: Readonly<Record<string, number>> = { 'postgres:': 5432, 'postgresql:': 5432 };

for (const { name, setting, usual } of servers) {
  const { hostname, port, protocol } = new URL(process.env[setting] ?? usual);
  const place = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (ports[protocol] ?? 6379) };
  if (await answers(place)) continue;
  const must = process.env.CI === 'true';
  console.error(
    `${name} does not answer at ${place.host}:${place.port} (${setting}): its suites ${must ? 'cannot run, and must.' : 'are left out.'}`,
  );
  if (must) process.exitCode = 1;
}

function answers(place: { host: string; port: number }): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ ...place, timeout: 1000 });
    const end = (answered: boolean) => {
      socket.destroy();
      resolve(answered);
    };
    socket.once('connect', () => end(true));
    socket.once('timeout', () => end(false));
    socket.once('error', () => end(false));
  });
}
