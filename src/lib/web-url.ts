/** The maximum length of the URL of a web page. */
export const WEB_URL_LENGTH_MAX = 500;

/** The regular expression that valid URLs match. It is wider than `webUrlError`, which also parses them. */
export const WEB_URL_PATTERN = '^[Hh][Tt][Tt][Pp][Ss]?://[^\\s\\\\/@][^\\s\\\\]*$';

/**
 * Returns the error of the URL of a web page as the end of a sentence (`must …`); `undefined` if it is valid: http or
 * https, without user name and password, white space or invisible characters. URLs are stored as sent.
 */
export function webUrlError(text: string): string | undefined {
  // Reject text that a URL parser would silently correct: people would see a different URL than the one that is opened.
  const url = /^https?:\/\/(?!\/)[^\s\\\p{Cc}\p{Cf}\p{Cs}]+$/iu.test(text) ? URL.parse(text) : null;
  if (url === null) return 'must be a URL that begins with https:// or http://';
  // The parser drops empty credentials.
  const hasCredentials = url.username !== '' || url.password !== '' || /^[^/]*\/\/[^/?#]*@/.test(text);
  return hasCredentials ? 'must not have a user name or a password in it' : undefined;
}
