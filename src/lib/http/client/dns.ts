import { lookup, Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves a host name to its current IP addresses; to an empty list if it has none or no name server responds. */
export type FindAddresses = (host: string) => Promise<readonly string[]>;

/** The time limit of one resolution. */
const RESOLVE_TIMEOUT_MS = 6000;
/** The time after which a DNS query is retried. */
const QUERY_TIMEOUT_MS = 2000;
/** How long to wait for IPv6 after IPv4 addresses are known: some name servers never respond to AAAA queries. */
const AAAA_DELAY_MS = 300;

/**
 * Returns a resolver in which a slow name server does not delay other names. It sends DNS queries for names with a dot
 * itself, each on its own channel: the system's `getaddrinfo` would block one of libuv's few threads.
 *
 * The system resolves only local names: those in the hosts file, those without a dot, and `*.localhost`. Search domains
 * therefore do not apply to names with a dot.
 * @param nameServers addresses with ports that replace the machine's name servers
 */
export function createResolver(nameServers?: readonly string[]): FindAddresses {
  const hostsFile = namesInHostsFile();
  return host => {
    const name = host.replace(/\.$/, '').toLowerCase();
    const local = !name.includes('.') || name.endsWith('.localhost') || hostsFile.has(name);
    return local ? resolveBySystem(name) : resolveByDns(name, nameServers);
  };
}

async function resolveBySystem(name: string): Promise<string[]> {
  const found = await lookup(name, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

async function resolveByDns(name: string, nameServers?: readonly string[]): Promise<string[]> {
  const none = (): string[] => [];
  // A new channel reads the machine's name servers again, and uses an unpredictable port.
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: 3 });
  if (nameServers) resolver.setServers(nameServers);
  const timer = setTimeout(() => resolver.cancel(), RESOLVE_TIMEOUT_MS);
  try {
    const ipv6 = resolver.resolve6(name).catch(none);
    const ipv4 = await resolver.resolve4(name).catch(none);
    const others = ipv4.length === 0 ? ipv6 : Promise.race([ipv6, sleep(AAAA_DELAY_MS, [], { ref: false })]);
    return [...ipv4, ...(await others)];
  } finally {
    clearTimeout(timer);
    resolver.cancel();
  }
}

function namesInHostsFile(): ReadonlySet<string> {
  try {
    const lines = readFileSync('/etc/hosts', 'utf8').toLowerCase().split('\n');
    return new Set(lines.flatMap(line => line.replace(/#.*/, '').trim().split(/\s+/).slice(1)));
  } catch {
    return new Set();
  }
}
