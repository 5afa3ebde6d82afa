import { isIP } from 'node:net';
import { countText } from '../../text.ts';
import { type AllowedNetworks, isPublicAddress, parseNetworks } from './ssrf-protection.ts';

/** The networks that requests may reach in addition to the public internet. */
export interface OutgoingRules {
  /** IP addresses and networks. Requests may reach them over http, and on any port. */
  readonly networks: readonly string[];
}

/** A parsed URL that requests may be sent to, as far as the URL alone shows. */
export interface Target {
  readonly tls: boolean;
  /** A name, or an IP address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** The name that the certificate must be valid for; `undefined` for an IP address. */
  readonly servername: string | undefined;
  /** Whether only the networks of the rules allow this scheme and port. */
  readonly networksOnly: boolean;
  /** Scheme, host and port: connections are limited per origin. */
  readonly origin: string;
}

/** A URL that requests may not be sent to. */
interface InvalidTarget {
  readonly fault: 'forbidden_url' | 'forbidden_address';
  /** The error, as the end of a sentence: "must …". */
  readonly message: string;
}

const URL_LENGTH_MAX = 2048;

/**
 * Checks a URL without DNS; the address of its host is checked when a connection is made.
 * @returns the error as the end of a sentence ("must …"); `undefined` for a valid URL
 * @throws {RangeError} if the rules contain an invalid network
 */
export function checkUrl(url: string, { networks }: OutgoingRules): string | undefined {
  const target = parseTarget(url, parseNetworks(networks));
  return 'message' in target ? target.message : undefined;
}

/** Parses the URL of a request, and applies SSRF protection to a host that is an IP address. */
export function parseTarget(text: string, networks: AllowedNetworks): Target | InvalidTarget {
  const url = parseUrl(text);
  if (typeof url === 'string') return invalid(url);

  const tls = url.protocol === 'https:';
  const port = Number(url.port || (tls ? 443 : 80));
  const networksOnly = !tls || (port !== 443 && port !== 8443);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isAddress = isIP(host) !== 0;
  if (isAddress ? !networks.has(host) : networks.isEmpty) {
    const forbidden = checkPublic(tls, networksOnly, isAddress ? host : undefined);
    if (forbidden !== undefined) return forbidden;
  }
  const servername = tls && !isAddress ? host.replace(/\.$/, '') : undefined;
  const origin = `${url.protocol}//${url.host}`;
  return { tls, host, port, networksOnly, path: url.pathname + url.search, servername, origin };
}

/** Returns why a request to a host outside the networks of the rules is not allowed. */
function checkPublic(tls: boolean, networksOnly: boolean, address: string | undefined): InvalidTarget | undefined {
  if (!tls) return invalid(HTTPS_ONLY);
  if (networksOnly) return invalid('must name port 443 or 8443, or none');
  if (address === undefined || isPublicAddress(address)) return undefined;
  return { fault: 'forbidden_address', message: 'must lead to an address of the public internet' };
}

/** Parses a URL. Returns the error if it is invalid regardless of its host and port. */
function parseUrl(text: string): URL | string {
  // Reject text that a URL parser would silently correct: people would see a different URL than the one that is used.
  const url = /^https?:\/\/(?!\/)[^\s\\\p{Cc}]+$/iu.test(text) ? URL.parse(text) : null;
  if (url === null) return isOtherScheme(text) ? HTTPS_ONLY : 'must be a URL like https://example.org/path';
  if (Math.max(text.length, url.href.length) > URL_LENGTH_MAX)
    return `must have at most ${countText(URL_LENGTH_MAX)} characters`;
  // The parser drops empty credentials and an empty fragment.
  if (url.username !== '' || url.password !== '' || /^[^/]*\/\/[^/?#]*@/.test(text)) {
    return 'must not have a user name or a password in it';
  }
  return text.includes('#') ? 'must not have a fragment' : url;
}

const HTTPS_ONLY = 'must begin with https://';

function isOtherScheme(text: string): boolean {
  return /^[a-z][a-z\d+.-]*:/i.test(text) && !/^https?:/i.test(text);
}

function invalid(message: string): InvalidTarget {
  return { fault: 'forbidden_url', message };
}
