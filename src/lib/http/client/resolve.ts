import { lookup, Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** Finds the IP addresses of a host by its name, as they are now; none where there are none, or nobody says. */
export type FindAddresses = (host: string) => Promise<readonly string[]>;

/** How long DNS may take to answer. */
const PATIENCE_MS = 6000;
/** How long one question waits for its answer before it is asked again. */
const QUESTION_MS = 2000;
/** How much longer IPv6 addresses may take than IPv4 addresses that are already there: some name servers never give them. */
const LATER_MS = 300;

/**
 * Finds addresses without letting one name make others wait: names with a dot are asked of DNS on a channel of their own,
 * never through the few threads of the system's resolver, where a name server that does not answer would hold up whoever
 * else needs a thread.
 *
 * The system's resolver is asked for names that no stranger answers for: those of the machine's hosts file, those without a
 * dot, and `*.localhost`. So search domains complete no name that has a dot.
 * @param nameServers whom to ask in place of the machine's name servers, with ports
 */
export function addressFinder(nameServers?: readonly string[]): FindAddresses {
  const near = namesOfHostsFile();
  return host => {
    const name = host.replace(/\.$/, '').toLowerCase();
    return !name.includes('.') || name.endsWith('.localhost') || near.has(name)
      ? fromSystem(name)
      : fromDns(name, nameServers);
  };
}

async function fromSystem(name: string): Promise<string[]> {
  const found = await lookup(name, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

async function fromDns(name: string, nameServers?: readonly string[]): Promise<string[]> {
  const none = (): string[] => [];
  // A channel for each name reads the machine's name servers anew, and asks from a port that nobody can guess.
  const resolver = new Resolver({ timeout: QUESTION_MS, tries: 3 });
  if (nameServers) resolver.setServers(nameServers);
  const enough = setTimeout(() => resolver.cancel(), PATIENCE_MS);
  try {
    const later = resolver.resolve6(name).catch(none);
    const first = await resolver.resolve4(name).catch(none);
    const others = first.length === 0 ? later : Promise.race([later, pause(LATER_MS, [], { ref: false })]);
    return [...first, ...(await others)];
  } finally {
    clearTimeout(enough);
    resolver.cancel();
  }
}

function namesOfHostsFile(): ReadonlySet<string> {
  try {
    const lines = readFileSync('/etc/hosts', 'utf8').toLowerCase().split('\n');
    return new Set(lines.flatMap(line => line.replace(/#.*/, '').trim().split(/\s+/).slice(1)));
  } catch {
    return new Set();
  }
}
