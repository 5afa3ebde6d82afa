/**
 * An error of a command line or a setting: one sentence for the user that says which input is valid, without secrets.
 * Errors of HTTP requests are `Problem`s.
 */
export class UserError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'UserError';
  }
}

/** Returns the message of the `UserError` that a check throws; `undefined` if it does not throw. */
export function userErrorOf(check: () => unknown): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof UserError) return error.message;
    throw error;
  }
}
