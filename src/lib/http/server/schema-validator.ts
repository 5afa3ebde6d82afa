import { createRequire } from 'node:module';
import type { TSchema } from 'typebox';
import type { Validator } from 'typebox/schema';
import { TIME_LENGTH_MAX } from '../../time.ts';

export type { Validator };

const require = createRequire(import.meta.url);

/**
 * Compiles a schema. Loads the compiler, 164 modules, for the first one: a start and reads without parameters need no
 * validator.
 */
export function compileSchema(schema: TSchema): Validator {
  compile ??= loadCompiler();
  return compile(schema) as Validator;
}

let compile: typeof import('typebox/schema').Compile | undefined;

function loadCompiler() {
  const { Compile }: typeof import('typebox/schema') = require('typebox/schema');
  const { default: Format }: typeof import('typebox/format') = require('typebox/format');
  // The validator splits a text at each T, which is slow for long ones.
  Format.Set('date-time', text => text.length <= TIME_LENGTH_MAX && Format.IsDateTime(text));
  return Compile;
}
