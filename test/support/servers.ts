import { connect } from 'node:net';

/** The servers that some suites need, and their default URLs. */
const servers = [
  { name: 'PostgreSQL', setting: 'PETSTORE_TEST_DATABASE_URL', usual: 'postgres://postgres@127.0.0.1:5432/postgres' },
  { name: 'Valkey', setting: 'PETSTORE_TEST_VALKEY_URL', usual: 'redis://127.0.0.1:6379' },
];
const ports: Readonly<Record<string, number>> = { 'postgres:': 5432, 'postgresql:': 5432 };

for (const { name, setting, usual } of servers) {
  const { hostname, port, protocol } = new URL(process.env[setting] ?? usual);
  const address = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (ports[protocol] ?? 6379) };
  if (await isReachable(address)) continue;
  const must = process.env.CI === 'true';
  console.error(
    `${name} cannot be reached at ${address.host}:${address.port} (${setting}): its suites are ${must ? 'required.' : 'left out.'}`,
  );
  if (must) process.exitCode = 1;
}

function isReachable(address: { host: string; port: number }): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ ...address, timeout: 1000 });
    const end = (reachable: boolean) => {
      socket.destroy();
      resolve(reachable);
    };
    socket.once('connect', () => end(true));
    socket.once('timeout', () => end(false));
    socket.once('error', () => end(false));
  });
}
