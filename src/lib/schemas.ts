import Type, { type TSchema } from 'typebox';
import { NAME_LENGTH_MAX, NOTE_LENGTH_MAX, nameError, noteError } from './text.ts';

/** Returns the schema of an id: a whole number from 1 upward. */
export function idSchema(description: string) {
  return Type.Integer({ format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description });
}

/** Returns the schema of a time in a response: RFC 3339, in UTC. */
export function timeSchema(description: string) {
  return Type.String({ format: 'date-time', description });
}

/**
 * Returns the schema of a text that `faultOf` checks.
 * @param faultOf returns what is wrong, as the end of a sentence (`must …`); `undefined` for a valid text
 */
export function checkedText(maxLength: number, faultOf: (text: string) => string | undefined, description: string) {
  return Type.Refine(
    Type.String({ minLength: 1, maxLength, description }),
    text => faultOf(text) === undefined,
    text => faultOf(text) ?? '',
  );
}

/** Returns the schema of a name or another text of one line: see `nameError`. */
export function lineSchema(description: string) {
  return checkedText(NAME_LENGTH_MAX, nameError, description);
}

/** The schema of a note: see `noteError`. */
export const Note = checkedText(
  NOTE_LENGTH_MAX,
  noteError,
  'A note, stored as sent: 1–1,000 characters, which may include line breaks.',
);

/** Returns the schema of a filter that accepts one or more values. */
export function anyOfFilter<Schema extends TSchema>(schema: Schema, maxItems: number, description: string) {
  return Type.Optional(Type.Array(schema, { minItems: 1, maxItems, description }));
}

/** Returns the path parameter that is the id of a resource; `noun_not_found` is the error code for an unknown id. */
export function idParameter<Schema extends TSchema>(noun: string, schema: Schema) {
  const description = `The identifier of the ${noun}.`;
  return { schema, description, errorCode: `${noun}_not_found`, errorMessage: `There is no ${noun} with this id.` };
}
