/** The maximum length of an email address. */
export const EMAIL_LENGTH_MAX = 254;

/**
 * Reports whether a text is an email address as browsers accept it: ASCII, without white space and control characters.
 */
export function isEmail(text: string): boolean {
  return emailForm.test(text) && text.length <= EMAIL_LENGTH_MAX;
}

/**
 * The pattern that browsers use for form fields (HTML Standard, "valid email address"), with at most 64 characters
 * before the @.
 */
export const EMAIL_PATTERN =
  "^[A-Za-z0-9_.!#$%&'*+/=?^`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$";
const emailForm = new RegExp(EMAIL_PATTERN);

/** Returns the `mailto:` URL of an address (RFC 6068), of a message with this subject if there is one. */
export function mailtoUrl(email: string, subject?: string): string {
  const url = `mailto:${encodeURIComponent(email).replace('%40', '@')}`;
  return subject === undefined ? url : `${url}?subject=${encodeURIComponent(subject)}`;
}
