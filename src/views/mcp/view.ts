import { isIP } from 'node:net';
import type { Problem } from '../../lib/http/problem.ts';
import type { HttpView, ViewRequest } from '../../lib/http/server/view.ts';
import type { AddressName, Config } from '../../model/config.ts';
import { problem } from '../../model/errors.ts';
import { MCP_PATH } from '../urls.ts';
import { problemMessage, respond } from './protocol.ts';

/** The parts of a process that the MCP server uses. */
export interface McpDeps {
  readonly config: Pick<Config, 'host' | 'mcp'>;
  /** Returns the public URL of an address that this process serves, or whose URL is set. */
  knownUrlOf(name: AddressName, tls?: boolean): string | undefined;
}

/** The largest message, in bytes. */
const MESSAGE_BYTES_MAX = 64 * 1024;
const addressNames: readonly AddressName[] = ['production', 'staging', 'messages'];

/**
 * Returns the MCP server of a deployment: tools for AI agents over the Streamable HTTP transport, without sessions and
 * streams. See docs/decisions/mcp.md.
 */
export function mcpView(deps: McpDeps): HttpView {
  return {
    operations: [
      { operationId: 'mcp.request', method: 'POST', path: '', bytesMax: MESSAGE_BYTES_MAX, handle: respond },
    ],
    refuse: request => refusalOf(deps, request) ?? methodRefusalOf(request),
    problemResponse: problemMessage,
  };
}

/** Rejects requests of other web pages, and those of a page whose host name leads to this machine (DNS rebinding). */
function refusalOf({ config, knownUrlOf }: McpDeps, { header, publicUrl }: ViewRequest): Problem | undefined {
  const origin = header('origin');
  const isRebindable = isLoopback(config.host);
  if (origin === undefined && !isRebindable) return undefined;
  const known = addressNames.flatMap(name => [knownUrlOf(name, false), knownUrlOf(name, true)]);
  const urls = [publicUrl, ...known.filter(url => url !== undefined)].map(url => new URL(url));
  if (origin !== undefined && !urls.some(url => url.origin === origin) && !config.mcp.origins?.includes(origin)) {
    return problem('origin_not_allowed', 'The Origin header names a web page that may not call this address.');
  }
  const host = URL.parse(`http://${header('host')}`)?.hostname;
  if (isRebindable && (host === undefined || !(isLoopback(host) || urls.some(url => url.hostname === host)))) {
    return problem('origin_not_allowed', 'The Host header does not name this server.');
  }
  return undefined;
}

/** Rejects other methods also without a key: clients take 405, not 401, as the sign that there is no stream. */
function methodRefusalOf({ method, path, header }: ViewRequest): Problem | undefined {
  const isOther = !['POST', 'OPTIONS'].includes(method) && path.replace(/\/$/, '') === MCP_PATH;
  if (!isOther || header('authorization') !== undefined) return undefined;
  return problem('method_not_allowed', undefined, { headers: ['Allow', 'POST'] });
}

/** Reports whether a host name or an address, with or without brackets, leads to this machine only. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || (isIP(host) === 4 && host.startsWith('127.'));
}
