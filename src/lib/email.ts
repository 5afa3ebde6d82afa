/** The maximum length of an email address. */
export const EMAIL_LENGTH_MAX = 254;

/** Reports whether a text is an email address as browsers accept it: ASCII, without white space and control characters. */
export function isEmail(text: string): boolean {
  return emailForm.test(text) && text.length <= EMAIL_LENGTH_MAX && text.indexOf('@') <= 64;
}

/** The pattern that browsers use for form fields (HTML Standard, "valid email address"). */
const emailForm =
  /^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?)*$/i;
