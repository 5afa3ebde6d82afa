import Type from 'typebox';
import { NOTE_LENGTH_MAX, noteFault } from './note.ts';

/** Returns the schema of an id: a whole number from 1 upward. */
export function idSchema(description: string) {
  return Type.Integer({ format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description });
}

/** Returns the schema of a time in a response: RFC 3339, in UTC. */
export function timeSchema(description: string) {
  return Type.String({ format: 'date-time', description });
}

/** The schema of a note: see `noteFault`. */
export const Note = Type.Refine(
  Type.String({
    minLength: 1,
    maxLength: NOTE_LENGTH_MAX,
    description: 'A note, stored as sent: 1–1,000 characters, which may include line breaks.',
  }),
  text => noteFault(text) === undefined,
  text => noteFault(text) ?? '',
);
