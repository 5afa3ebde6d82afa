import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import Type from 'typebox';
import { NotJson, parseJson } from './json.ts';
import { BodyReader, integerOf, QueryReader } from './validation.ts';

describe('parseJson', () => {
  it('parses RFC 8259 JSON: uses the last of duplicate members, and treats __proto__ like any other', () => {
    assert.deepEqual(parseJson(Buffer.from(' {"a":1,"a":[2.0,"\\u00e9"]}\n')), { a: [2, 'é'] });
    const value = parseJson(Buffer.from('{"__proto__":{"a":1}}')) as { a?: number };
    assert.ok(Object.hasOwn(value, '__proto__'));
    assert.equal(value.a, undefined);
  });

  it('rejects everything else without quoting it', () => {
    for (const bytes of [
      '',
      ' ',
      '\ufeff{}',
      '{',
      "{'a':1}",
      '[1,]',
      'undefined',
      'secret',
      Buffer.from([0x22, 0xff, 0x22]),
    ]) {
      assert.throws(
        () => parseJson(Buffer.from(bytes as string)),
        (error: Error) =>
          error instanceof NotJson && /^The body /.test(error.message) && !error.message.includes('secret'),
      );
    }
  });

  it('rejects large bodies that nest too deeply, and ignores brackets in strings', () => {
    const deep = (levels: number) => Buffer.from(`${'['.repeat(levels)}${']'.repeat(levels)}${' '.repeat(70_000)}`);
    parseJson(deep(10_000));
    assert.throws(() => parseJson(deep(10_001)), /nested more than 10,000 levels/);
    parseJson(Buffer.from(JSON.stringify({ a: `\\"${'[{'.repeat(50_000)}` })));
  });

  it('rejects large bodies with too many values, and ignores commas in strings', () => {
    const wide = (values: number) => Buffer.from(`[${new Array(values).fill('[{}]').join()}]`);
    assert.equal((parseJson(wide(20_000)) as unknown[]).length, 20_000);
    assert.throws(() => parseJson(wide(20_001)), /more than 20,000 values/);
    parseJson(Buffer.from(JSON.stringify({ a: ','.repeat(100_000) })));
  });
});

describe('a body reader of members that may be null', () => {
  const reader = new BodyReader(
    Type.Object({
      price: Type.Optional(Type.Union([Type.Object({ amount: Type.Integer({ minimum: 0 }) }), Type.Null()])),
      ids: Type.Optional(Type.Union([Type.Array(Type.Integer()), Type.Null()])),
    }),
  );
  const errorsOf = (value: unknown, strict = false) => {
    const reading = reader.read(value, strict);
    return 'errors' in reading ? reading.errors.map(({ path, code }) => `${path} ${code}`) : [];
  };

  it('reports the error of the value, not that it is not null', () => {
    assert.deepEqual(errorsOf({ price: { amount: -1 } }), ['/price/amount out_of_range']);
    assert.deepEqual(errorsOf({ price: {} }), ['/price/amount required']);
    assert.deepEqual(errorsOf({ price: 5 }), ['/price invalid_type']);
    assert.deepEqual(errorsOf({ ids: [1, 'x'] }), ['/ids/1 invalid_type']);
    assert.deepEqual(errorsOf({ price: null, ids: null }, true), []);
  });

  it('finds unknown members in them with handling=strict', () => {
    assert.deepEqual(errorsOf({ price: { amount: 1, x: 1 } }), []);
    assert.deepEqual(errorsOf({ price: { amount: 1, x: 1 } }, true), ['/price/x unknown_member']);
  });
});

describe('a body reader', () => {
  const reader = new BodyReader(
    Type.Object({
      name: Type.String({ minLength: 1, maxLength: 3 }),
      size: Type.Optional(Type.Integer({ minimum: 1, maximum: 9 })),
      least: Type.Optional(Type.Integer({ minimum: 1 })),
      weight: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 5 })),
      kind: Type.Optional(Type.Enum(['a', 'b'])),
      inner: Type.Optional(Type.Object({ 'x/y~': Type.Boolean() })),
      extra: Type.Optional(
        Type.Record(Type.String({ pattern: '^[a-z]$' }), Type.String(), { additionalProperties: false }),
      ),
    }),
  );
  const errorsOf = (value: unknown, strict = false) => {
    const reading = reader.read(value, strict);
    return 'errors' in reading ? reading.errors.map(({ path, code, message }) => `${path} ${code}: ${message}`) : [];
  };

  it('returns a valid value unchanged', () => {
    const value = { name: '🐈🐈🐈', size: 9, more: 1 };
    assert.deepEqual(reader.read(value, false), { value });
  });

  it('reports one error per invalid field', () => {
    assert.deepEqual(errorsOf({ size: 0, kind: 'c', inner: {} }).toSorted(), [
      '/inner/x~1y~0 required: x/y~ is required.',
      '/kind invalid_value: Must be one of a, b.',
      '/name required: name is required.',
      '/size out_of_range: Must be from 1 to 9.',
    ]);
    assert.deepEqual(errorsOf({ name: '', size: '1' }), [
      '/name too_short: Must have at least 1 character.',
      '/size invalid_type: Must be an integer.',
    ]);
    assert.deepEqual(errorsOf({ name: 'Rex', least: 0, weight: 0 }), [
      '/least out_of_range: Must be at least 1.',
      '/weight out_of_range: Must be more than 0 and at most 5.',
    ]);
    assert.deepEqual(errorsOf({ name: 'long', size: 0.5 }), [
      '/name too_long: Must have at most 3 characters.',
      '/size invalid_type: Must be an integer.',
    ]);
    assert.deepEqual(errorsOf({ name: 'Rex', extra: { a: 'x', 'B/C': 'x' } }), [
      '/extra/B~1C invalid_value: Must have a name that matches the pattern ^[a-z]$.',
    ]);
    assert.equal(errorsOf(null).length, 1);
  });

  it('rejects unknown members at every depth if strict, and reports at most fifty', () => {
    const unknown = 'unknown_member: Unknown member.';
    assert.deepEqual(errorsOf({ name: 'x', more: 1, inner: { 'x/y~': true, deep: 1 } }, true), [
      `/more ${unknown}`,
      `/inner/deep ${unknown}`,
    ]);
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`m${index}`, 1]));
    assert.equal(errorsOf({ name: 'x', ...many }, true).length, 50);
    assert.deepEqual(errorsOf(JSON.parse('{"name":"x","__proto__":1}'), true), [`/__proto__ ${unknown}`]);
  });
});

describe('a body reader of lists', () => {
  const schema = Type.Object({
    ids: Type.Array(Type.Integer({ minimum: 1 }), { minItems: 1, maxItems: 20, uniqueItems: true }),
    types: Type.Optional(
      Type.Union([Type.Array(Type.Enum(['a', 'b']), { maxItems: 2, uniqueItems: true }), Type.Null()]),
    ),
    name: Type.Optional(Type.String({ maxLength: 2 })),
  });
  const reader = new BodyReader(schema);
  const errorsOf = (value: unknown) => {
    const reading = reader.read(value, false);
    return 'errors' in reading ? reading.errors.map(({ path, message }) => `${path} ${message}`) : [];
  };

  it('reports the error of each beside the others', () => {
    const longer = Array.from({ length: 21 }, (_, index) => index + 1);
    assert.deepEqual(errorsOf({ ids: longer, name: 'abc' }), [
      '/ids Must have at most 20 items.',
      '/name Must have at most 2 characters.',
    ]);
    assert.deepEqual(errorsOf({ ids: [7, 1, 7], types: ['b', 'b'], name: 'abc' }), [
      '/ids Must not have duplicate items.',
      '/types Must not have duplicate items.',
      '/name Must have at most 2 characters.',
    ]);
    assert.deepEqual(errorsOf({ ids: longer.slice(1), types: null }), []);
    assert.deepEqual(errorsOf({ ids: [], types: ['c'] }), [
      '/ids Must not have fewer than 1 items.',
      '/types/0 Must be one of a, b.',
    ]);
  });

  it('checks no item of an array that is too long', () => {
    let looked = 0;
    const items = new Proxy(new Array(30_000).fill(1), {
      get(target, member) {
        if (/^\d+$/.test(String(member))) looked++;
        return Reflect.get(target, member);
      },
    });
    assert.deepEqual(errorsOf({ ids: items }), ['/ids Must have at most 20 items.']);
    assert.equal(looked, 0);
  });

  it('does not descend into invalid items', () => {
    const deep = (open: string, close: string) => JSON.parse(`${open.repeat(30_000)}1${close.repeat(30_000)}`);
    assert.deepEqual(errorsOf({ ids: [deep('[', ']')] }), ['/ids/0 Must be an integer.']);
    assert.deepEqual(errorsOf({ ids: [deep('{"a":', '}'), deep('{"a":', '}')], types: [deep('[', ']')] }), [
      '/ids/0 Must be an integer.',
      '/ids/1 Must be an integer.',
      '/types/0 Must be one of a, b.',
    ]);
  });

  it('leaves the schema as it is, which the document shows', () => {
    assert.equal(JSON.parse(JSON.stringify(schema)).properties.ids.uniqueItems, true);
  });
});

describe('a body reader of times', () => {
  it('rejects text longer than any timestamp without parsing it', () => {
    const reader = new BodyReader(Type.Object({ at: Type.String({ format: 'date-time' }) }));
    const split = mock.method(String.prototype, 'split');
    const fits = (at: string) => 'value' in reader.read({ at }, false);
    assert.ok(fits('2026-11-21T12:00:00.123456789+01:00'));
    split.mock.resetCalls();
    for (const at of ['T'.repeat(1_000_000), `2026-11-21T12:00:00.${'1'.repeat(60)}Z`]) assert.ok(!fits(at));
    assert.ok(split.mock.calls.every(call => (call.this as unknown as string).length < 1000));
    split.mock.restore();
  });
});

describe('a query reader', () => {
  const reader = new QueryReader(
    Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
      kind: Type.Optional(Type.Array(Type.Enum(['a', 'b']), { maxItems: 2 })),
      text: Type.Optional(Type.String({ minLength: 1 })),
      all: Type.Optional(Type.Boolean()),
      after: Type.Optional(Type.String({ pattern: '^evt_\\d+$', maxLength: 8, examples: ['evt_42'] })),
    }),
  );
  const read = (text: string, strict = false) => {
    const reading = reader.read(text, strict);
    return 'value' in reading ? reading.value : reading.errors.map(({ path, code }) => `${path} ${code}`);
  };

  it('reads each parameter by its schema', () => {
    assert.deepEqual(read(''), {});
    assert.deepEqual(read('limit=7&kind=a,b&text=a%26b+c'), { limit: 7, kind: ['a', 'b'], text: 'a&b c' });
    assert.deepEqual(read('kind=b&kind=a'), { kind: ['b', 'a'] });
    assert.deepEqual(read('kind=a&other=1&__proto__=2'), { kind: ['a'] });
    assert.deepEqual([read('all=true'), read('all=false')], [{ all: true }, { all: false }]);
  });

  it('rejects empty, duplicate, too many or out-of-range values', () => {
    assert.deepEqual(read('limit='), ['limit invalid_value']);
    assert.deepEqual(read('limit=1&limit=1'), ['limit given_twice']);
    assert.deepEqual(read('limit=101&kind=c&text='), [
      'limit invalid_value',
      'kind invalid_value',
      'text invalid_value',
    ]);
    assert.deepEqual(read('kind=a,b,a'), ['kind too_many']);
    assert.deepEqual(read('kind=a,'), ['kind invalid_value']);
    assert.deepEqual(read('other=1', true), ['other unknown_parameter']);
    const others = Array.from({ length: 60 }, (_, index) => `other${index}=1`);
    assert.equal((read(`${others.join('&')}&limit=0&kind=c`, true) as string[]).length, 50);
    for (const [text, message] of [
      ['limit=0', 'Must be a whole number from 1 to 100 in decimal digits.'],
      ['kind=c', 'Must be one of a, b.'],
      ['text=', 'Must have at least 1 character.'],
      ['all=1', 'Must be true or false.'],
      ['after=42', 'Must match the pattern ^evt_\\d+$, as evt_42 does.'],
      ['after=evt_12345', 'Must have at most 8 characters.'],
    ] as const) {
      const reading = reader.read(text, false);
      assert.deepEqual('errors' in reading && reading.errors.map(error => error.message), [message]);
    }
    for (const text of ['', '1', 'yes', 'TRUE', 'null', 'true,true']) {
      assert.deepEqual(read(`all=${text}`), ['all invalid_value'], text);
    }
  });
});

describe('integerOf', () => {
  it('accepts only plain decimal digits', () => {
    assert.deepEqual(['0', '7', '-7', '9007199254740991'].map(integerOf), [0, 7, -7, 9007199254740991]);
    for (const text of [
      '',
      '-',
      '-0',
      '00',
      '07',
      '+7',
      '7.0',
      '7e0',
      '0x7',
      ' 7',
      '7\n',
      '٧',
      '9007199254740992',
      '9'.repeat(200),
      'NaN',
    ]) {
      assert.equal(integerOf(text), undefined, text);
    }
  });
});
