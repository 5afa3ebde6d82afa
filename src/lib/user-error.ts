/**
 * Why a person's wish was not fulfilled: one sentence that says what would be right, without secrets.
 *
 * For wishes made on the command line or in settings; those made over HTTP are refused with a `Problem`.
 */
export class UserError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'Refusal';
  }
}
