import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import Type from 'typebox';
import { UsageError } from '../command.ts';
import { type BodyMember, membersOf, optionsOf, parseMembers } from './options.ts';

const Body = Type.Object({
  name: Type.String({ minLength: 1, description: 'Its name.' }),
  ownerId: Type.Optional(Type.Integer({ format: 'int64', minimum: 1, description: 'Its owner.' })),
  vaccinated: Type.Optional(Type.Boolean({ description: 'Whether it is vaccinated.' })),
  ready: Type.Optional(Type.Boolean({ default: true })),
  size: Type.Optional(Type.Union([Type.Enum(['small', 'large']), Type.Null()])),
  weightKg: Type.Optional(Type.Number({ minimum: 0 })),
  bornAt: Type.Optional(Type.String({ format: 'date-time', description: 'When. Not with `ownerId`.' })),
  tags: Type.Optional(Type.Array(Type.String())),
  fee: Type.Optional(Type.Object({ amount: Type.Integer(), currency: Type.String() })),
});
const members = membersOf('body', Body, {});

function parse(options: Readonly<Record<string, string>>, of: readonly BodyMember[] = members, schema: object = Body) {
  return parseMembers(schema, of, options, Date.parse('2027-01-01T00:00:00Z'));
}

describe('options of a body', () => {
  const options = optionsOf(members, {});

  it('have one option for each member, named after it', () => {
    const names = ['name', 'owner', 'vaccinated', 'not-ready', 'size', 'weight-kg', 'born-at', 'tags', 'fee'];
    assert.deepEqual(Object.keys(options), names);
    assert.deepEqual(options['name'], { description: 'Its name.', value: 'NAME', required: true });
    assert.deepEqual(options['owner'], { description: 'Its owner.', value: 'ID' });
    assert.deepEqual(options['size']!.choices, ['small', 'large', 'none']);
    assert.equal(options['not-ready']!.value, undefined);
    assert.match(options['born-at']!.description, /^When\. Not with --owner\. A duration from now/);
  });

  it('become the JSON value that the operation accepts', async () => {
    const given = { name: 'Mia', owner: '7', vaccinated: 'no', 'not-ready': 'true', size: 'none', 'weight-kg': '3.5' };
    const more = { 'born-at': '1d', tags: 'a,b,a', fee: '12.50 EUR' };
    assert.deepEqual(await parse({ ...given, ...more }), {
      name: 'Mia',
      ownerId: 7,
      vaccinated: false,
      ready: false,
      size: null,
      weightKg: 3.5,
      bornAt: '2027-01-02T00:00:00.000Z',
      tags: ['a', 'b'],
      fee: { amount: 1250, currency: 'EUR' },
    });
  });

  it('reject a wrong value, naming the option', async () => {
    for (const [given, message] of [
      [{ name: '' }, /^--name must have at least 1 character\.$/],
      [{ name: 'Mia', owner: '0' }, /^--owner must be a whole number from 1 to /],
      [{ name: 'Mia', 'weight-kg': 'heavy' }, /^--weight-kg must be /],
      [{ name: 'Mia', 'born-at': 'soon' }, /^--born-at must be a duration like/],
      [{ name: 'Mia', fee: '12.505 EUR' }, /^--fee must be an amount and a currency/],
    ] as const) {
      await assert.rejects(parse(given), { name: new UsageError('').name, message });
    }
  });
});

describe('options of a query', () => {
  const Query = Type.Object({ open: Type.Optional(Type.Boolean()), limit: Type.Integer(), cursor: Type.String() });
  const filters = membersOf('query', Query, { open: 'opened' });

  it('are switches for booleans, and leave pagination out', async () => {
    assert.deepEqual(
      filters.map(({ flag, option }) => [flag, option.value]),
      [['opened', undefined]],
    );
    assert.deepEqual(await parse({ opened: 'true' }, filters, Type.Pick(Query, ['open'])), { open: true });
  });
});
