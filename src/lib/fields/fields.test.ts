import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import Type from 'typebox';
import { sql } from '../storage/query.ts';
import { columnsFor } from './columns.ts';
import { booleanAsInteger, field, time } from './field.ts';
import { changesSchema, fullSchema, newSchema, patchSchema, plainSchema } from './schemas.ts';
import { valuesFor } from './values.ts';

const Size = Type.Object({ width: Type.Integer(), height: Type.Integer() });
const text = Type.String();

const fields = {
  id: field(Type.Integer(), { column: 'id', view: 'plain', generated: true, fixed: true }),
  label: field(text, { column: 'label', write: 'required', view: 'plain', cli: { flag: 'name' } }),
  color: field(text, { column: 'color', write: 'optional', default: 'white', at: now => sql`paint(${now})` }),
  note: field(text, { column: 'note', write: 'optional', recorded: false }),
  size: field(Size, { columns: { width: 'w', height: 'h' }, write: 'optional', patch: Type.Partial(Size) }),
  open: field(Type.Boolean(), { column: 'is_open', write: 'optional', default: true, codec: booleanAsInteger }),
  madeAt: field(text, { column: 'made_at', codec: time, fixed: true }),
  version: field(Type.Integer(), { column: 'version', generated: true, view: 'row' }),
  tag: field(text, { derive: ({ id, version }: { id: number; version: number }) => `${id}.${version}` }),
  dueAt: field(Type.Integer(), { column: 'due_at', nullable: true, view: 'lock' }),
};

const values = valuesFor(fields);
const empty = { label: 'a', color: 'white', note: null, sizeWidth: null, sizeHeight: null, open: 1 };
const row = { ...empty, id: 7, madeAt: 0, version: 2 };
const reject = (errors: readonly object[]) => Object.assign(new Error('rejected'), { errors });

describe('fields', () => {
  it('derive the schemas of requests and responses', () => {
    const keys = (schema: { properties: object }) => Object.keys(schema.properties);
    assert.deepEqual(keys(newSchema(fields, 'T', 'A thing.')), ['label', 'color', 'note', 'size', 'open']);
    assert.deepEqual(newSchema(fields, 'T', 'A thing.').required, ['label']);
    assert.equal(patchSchema(fields, 'T').required, undefined);
    assert.deepEqual(keys(plainSchema(fields, 'T', 'A thing.')), ['id', 'label']);
    const full = fullSchema(fields, 'T', 'A thing.');
    assert.deepEqual(keys(full), ['id', 'label', 'color', 'note', 'size', 'open', 'madeAt', 'tag']);
    assert.deepEqual(full.required, ['id', 'label', 'color', 'open', 'madeAt', 'tag']);
    assert.deepEqual(keys(changesSchema(fields, 'Changes.')), ['label', 'color', 'size', 'open']);
  });

  it('keep the flag of the command line out of documents', () => {
    const label = newSchema(fields, 'T', 'A thing.').properties.label as { '~cli'?: object };
    assert.deepEqual(label['~cli'], { flag: 'name' });
    assert.deepEqual(JSON.parse(JSON.stringify(label)), { type: 'string' });
  });

  it('convert a body to a row, with defaults and nulls', () => {
    assert.deepEqual(values.toRow({ label: 'a' }), empty);
    const size = { width: 1, height: 2 };
    const whole = { ...empty, color: 'red', note: 'x', sizeWidth: 1, sizeHeight: 2, open: 0 };
    assert.deepEqual(values.toRow({ label: 'a', color: 'red', note: 'x', size, open: false }), whole);
  });

  it('merge a patch: absent members stay, and null deletes', () => {
    assert.deepEqual(values.merge(row, {}, reject), {});
    assert.deepEqual(values.merge(row, { note: null, open: false }, reject), { note: null, open: 0 });
    const sized = { ...row, sizeWidth: 1, sizeHeight: 2 };
    assert.deepEqual(values.merge(sized, { size: { width: 3 } }, reject), { sizeWidth: 3, sizeHeight: 2 });
    assert.deepEqual(values.merge(sized, { size: null }, reject), { sizeWidth: null, sizeHeight: null });
  });

  it('reject a patch that leaves an object incomplete', () => {
    const message = 'height is required, because there is no size yet.';
    assert.throws(() => values.merge(row, { size: { width: 3 } }, reject), {
      errors: [{ path: '/size/height', code: 'required', message }],
    });
  });

  it('show views without values that are absent', () => {
    assert.deepEqual(values.plainOf(row), { id: 7, label: 'a' });
    const madeAt = '1970-01-01T00:00:00.000Z';
    assert.deepEqual(values.fullOf(row), { id: 7, label: 'a', color: 'white', open: true, madeAt, tag: '7.2' });
  });

  it('record states and changes', () => {
    const noted = { ...row, note: 'x' };
    assert.deepEqual(values.stateOf(noted), { label: 'a', color: 'white', open: true });
    assert.equal(values.changesOf(row, noted), undefined);
    assert.deepEqual(values.changesOf(row, { ...row, color: 'red', sizeWidth: 1, sizeHeight: 2 }), {
      color: 'white',
      size: null,
    });
  });

  it('record changes in the order of the fields, whatever the order of the row', () => {
    const before = { ...row, sizeWidth: 1, sizeHeight: 2 };
    const { sizeHeight, open, ...others } = {
      ...before,
      label: 'b',
      color: 'red',
      sizeWidth: 3,
      sizeHeight: 4,
      open: 0,
    };
    const changes = values.changesOf(before, Object.assign({ sizeHeight, open }, others))!;
    assert.deepEqual(Object.entries(changes), [
      ['label', 'a'],
      ['color', 'white'],
      ['size', { width: 1, height: 2 }],
      ['open', true],
    ]);
  });

  it('list the columns of queries', () => {
    const columns = columnsFor(fields);
    assert.deepEqual(columns.plain(0), ['id', 'label']);
    assert.deepEqual(columns.stored().slice(-2), ['version', 'due_at as dueAt']);
    const written = ['label', 'color', 'note', 'w', 'h', 'is_open'];
    assert.deepEqual(Object.keys(columns.inserted({} as never)), [...written, 'made_at']);
    assert.deepEqual(Object.keys(columns.updated({})), [...written, 'version']);
    assert.deepEqual(Object.keys(columns.updated({}, ['dueAt'])), ['due_at']);
  });
});
