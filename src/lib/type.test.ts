import assert from 'node:assert/strict';
import { test } from 'node:test';
import Typebox from 'typebox';
import { Type } from './type.ts';

const isEven = (value: number) => value % 2 === 0;
const message = () => 'must be even';

/** Schemas that use each function, with options and without, and schemas in schemas. */
const samples: Record<keyof typeof Type, (type: typeof Type) => readonly object[]> = {
  Array: type => [type.Array(type.String()), type.Array(type.Null(), { minItems: 1, description: 'Some.' })],
  Boolean: type => [type.Boolean(), type.Boolean({ description: 'Whether.' })],
  Enum: type => [type.Enum(['a', 'b']), type.Enum(['a', 1], { description: 'One.' })],
  Integer: type => [type.Integer(), type.Integer({ format: 'int64', minimum: 1 })],
  Literal: type => [type.Literal('a'), type.Literal(1, { description: 'One.' }), type.Literal(true)],
  Null: type => [type.Null(), type.Null({ description: 'Nothing.' })],
  Number: type => [type.Number(), type.Number({ maximum: 1.5 })],
  Object: type => [
    type.Object({}),
    type.Object({ b: type.Null(), a: type.Optional(type.String()) }, { title: 'AB', additionalProperties: false }),
    type.Object({ a: type.Optional(type.String()) }, { required: [], '~document': { not: {} } }),
  ],
  Optional: type => [
    type.Optional(type.String({ description: 'A text.' })),
    type.Optional(type.Optional(type.Refine(type.Integer(), isEven, message))),
  ],
  Partial: type => [
    type.Partial(type.Object({ a: type.String(), b: type.Optional(type.Null()) }, { title: 'AB' })),
    type.Partial(type.Object({ a: type.String() }, { title: 'A' }), { title: 'B', description: 'Less.' }),
  ],
  Record: type => [
    type.Record(type.String(), type.Integer()),
    type.Record(type.String({ pattern: '^[a-z]$' }), type.Null(), { maxProperties: 2, description: 'Some.' }),
  ],
  Refine: type => [
    type.Refine(type.Integer({ minimum: 2 }), isEven, message),
    type.Refine(type.Refine(type.Optional(type.Integer()), isEven, message), Number.isSafeInteger, message),
  ],
  String: type => [type.String(), type.String({ pattern: '^a$', examples: ['a'] })],
  Union: type => [type.Union([type.String(), type.Null()]), type.Union([type.Null()], { description: 'None.' })],
  Unknown: type => [type.Unknown(), type.Unknown({ description: 'Any.' })],
  Unsafe: type => [type.Unsafe(type.String({ description: 'A text.' }))],
};

for (const [name, sample] of Object.entries(samples)) {
  test(`Type.${name} returns what TypeBox returns, with hidden members and the order of keywords`, () => {
    const own = sample(Type);
    const expected = sample(Typebox);
    assert.deepEqual(own.map(membersOf), expected.map(membersOf));
    assert.equal(JSON.stringify(own), JSON.stringify(expected));
  });
}

/** Returns a value with the descriptors of all members, at every depth. */
function membersOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(Object.getOwnPropertyDescriptors(value))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, descriptor]) => [name, { ...descriptor, value: membersOf(descriptor.value) }]);
}
