import type { AddressName, Config } from '../model/config.ts';

/** The path of the API on the addresses of production and staging; the message address has none. */
export const PREFIX = '/v1';

/** The path of the MCP server on the addresses of production and staging. */
export const MCP_PATH = '/mcp';

/** The path below which clients of the Petfinder API v2 are served. */
export const PETFINDER_PATH = '/petfinder/v2';

/** Returns the public URL of an address, without the prefix and without a trailing slash. */
export function publicUrlOf(
  { publicUrls, host }: Config,
  name: AddressName,
  port: number | undefined,
  tls = false,
): string {
  return publicUrls[name] ?? urlOf(host, port, tls ? 'https' : 'http');
}

/** Returns a URL with which clients on this machine can reach a listening server. */
export function urlOf(host: string, port: number | undefined, scheme = 'http'): string {
  const isLocal = ['127.0.0.1', '::1', '0.0.0.0', '::'].includes(host);
  const name = isLocal ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `${scheme}://${name}${port === undefined ? '' : `:${port}`}`;
}
