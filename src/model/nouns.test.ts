import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import Sqlite from 'better-sqlite3';
import type * as Commands from '../../test/support/commands.ts';
import { assertCompiles, copyProduct } from '../../test/support/product-copy.ts';
import { skipFor, withoutServers } from '../../test/support/selection.ts';
import type * as Serving from '../../test/support/serving.ts';
import { testClock } from '../lib/clock.ts';
import type * as Deletion from '../operate/deletion/steps.ts';

/** The definition of a noun. */
const definition = `
import Type from 'typebox';
import { columnsFor } from '../lib/fields/columns.ts';
import { field, time } from '../lib/fields/field.ts';
import { fullSchema, newSchema, recordedSchema } from '../lib/fields/schemas.ts';
import { valuesFor } from '../lib/fields/values.ts';
import { idSchema, Note, timeSchema } from '../lib/schemas.ts';
import { sql } from '../lib/storage/query.ts';
import type { Noun } from './noun.ts';

const visitFields = {
  id: field(idSchema('Assigned by the service.'), { column: 'id', generated: true, fixed: true }),
  petId: field(idSchema('The animal to visit.'), { column: 'pet_id', write: 'required' }),
  note: field(Note, { column: 'note', write: 'optional' }),
  accountId: field(idSchema('The account of the visitor.'), { column: 'account_id', recorded: true }),
  createdAt: field(timeSchema('When it was created.'), { column: 'created_at', codec: time }),
};
export const visitColumns = columnsFor(visitFields);
export const visitValues = valuesFor(visitFields);
export const NewVisit = newSchema(visitFields, 'NewVisit', 'A visit to make.');
export const Visit = fullSchema(visitFields, 'Visit', 'A visit of an account to an animal.');
export const Visits = Type.Array(Visit, { title: 'Visits', description: 'Visits.' });

export const visit = {
  tag: { name: 'Visits', description: 'Visits to animals.', group: 'Store' },
  table: {
    name: 'visits',
    fields: visitFields,
    migrations: [
      {
        name: '9999-visits',
        up: ({ id, int, text, end }) => [
          \`create table visits (id \${id}, pet_id \${int} not null, note \${text}, account_id \${int} not null,
             created_at \${int} not null) \${end}\`,
        ],
      },
    ],
    accounts: ['account_id'],
    checks: {
      'animals of visits': () => sql\`
        select 'Visit ' || id || ' is to animal ' || pet_id || ', which does not exist.' as finding
        from visits where not exists (select 1 from pets where pets.id = pet_id)\`,
    },
  },
  events: {
    actions: { created: 'creates' },
    scopes: ['orders:read'],
    visibleTo: 'parties',
    belongsTo: 'account',
    data: recordedSchema(visitFields, 'VisitEventData', 'A visit.', { id: visitFields.id.schema }),
  },
  exported: { visits: ['listVisits', {}] },
  deletion: 'rows',
  commands: {
    list: {
      list: { columns: ['petId', 'createdAt'], noun: 'visits', hint: 'accounts create them with POST /v1/visits.' },
      examples: { '': 'the first 20 visits' },
    },
    create: { account: 'The account of the visitor.', examples: { '--account 2 --pet 7': 'a visit to an animal' } },
  },
} as const satisfies Noun;
`;

/** The room of the noun: its queries and routes. */
const room = `
import type { Expression } from 'kysely';
import { listOperation, operation } from '../../access/deployment.ts';
import { withIdempotency } from '../../access/idempotency/idempotency.ts';
import { declareList } from '../../model/list.ts';
import { record } from '../../model/log/log.ts';
import { type Params, query } from '../../model/schema.ts';
import { NewVisit, Visit, Visits, visitColumns, visitValues } from '../../model/visit.ts';
import { getPet } from '../pets/pets.ts';

export const create = operation({
  summary: 'Create a visit',
  description: 'Creates a visit to an animal.',
  body: NewVisit,
  successes: [{ status: 201, description: 'The visit.', schema: Visit }],
  errors: ['pet_not_found'],
  examples: [],
  handle(request) {
    const { caller, body } = request;
    return withIdempotency(request, async tx => {
      const { accountId: ownerId } = await getPet(tx, body.petId, tx.now);
      const row = { petId: body.petId, note: body.note ?? null, accountId: caller.accountId, createdAt: tx.now };
      const visit = { ...row, id: await tx.insert(insertVisit, row) };
      const data = { visit: visitValues.stateOf(visit), ownerIds: [ownerId] };
      await record(tx, { kind: 'visit', action: 'created', subjectId: visit.id, accountId: caller.accountId, data });
      return { body: visitValues.fullOf(visit) };
    });
  },
});

export const list = listOperation({
  summary: 'List visits',
  description: 'Returns the visits of your account.',
  noun: 'visits',
  schema: Visits,
  examples: [],
  async handle({ context: { database }, caller: { accountId, admin }, page }) {
    const of = { accountId: admin ? undefined : accountId };
    const { rows, ...links } = await pageOf(database, of, { list: ['visits', admin], page });
    return { ...links, rows: rows.map(visitValues.fullOf) };
  },
});

const pageOf = declareList({
  table: 'visits',
  rows: db => db.selectFrom('visits').select(visitColumns.full()),
  filters: { accountId: (rows, id: Expression<number>) => rows.where('account_id', '=', id) },
});

const insertVisit = query((db, p: Params<{ petId: number; note: string | null; accountId: number; createdAt: number }>) =>
  db.insertInto('visits').values(visitColumns.inserted(p)).returning('id'),
);
`;

/** The lines that list it, in the two files that list nouns and operations. */
const edits = [
  { file: 'src/model/nouns.ts', before: 'import { pet }', text: `import { visit } from './visit.ts';\n` },
  { file: 'src/model/nouns.ts', before: '  message,', text: '  visit,\n' },
  {
    file: 'src/views/api.ts',
    before: `import * as account`,
    text: `import * as visits from '../store/visits/routes.ts';\n`,
  },
  {
    file: 'src/views/api.ts',
    before: '  event: {',
    text: `  visit: {
    'GET /visits': beta('listVisits', 'orders:read', visits.list),
    'POST /visits': beta('createVisit', 'orders:write', visits.create),
  },\n`,
  },
];

/** A noun without one of its parts, an event with an action that it lacks, and a list of operations without it. */
const uses = `
import type { NewEvent } from './src/model/log/event.ts';
import type { Noun } from './src/model/noun.ts';
import type { DeletionStep, TaggedNoun } from './src/model/nouns.ts';
import { visit } from './src/model/visit.ts';

const { events, table } = visit;
${['tag', 'table', 'events', 'exported', 'deletion', 'commands'].map(part => without('visit', part, part)).join('')}
${['name', 'fields', 'accounts', 'checks'].map(part => without('table', part, 'table')).join('')}
${['actions', 'scopes', 'visibleTo', 'belongsTo', 'data'].map(part => without('events', part, 'events')).join('')}
const event = { kind: 'visit', subjectId: 1, accountId: 1, data: {} } as const;
export const recorded: NewEvent = { ...event, action: 'created' };
// @ts-expect-error: an action that the noun lacks
export const unknown: NewEvent = { ...event, action: 'postponed' };

declare const others: Readonly<Record<Exclude<TaggedNoun, 'visit'>, string>>;
// @ts-expect-error: a list of operations without those of the noun
export const groups: Readonly<Record<TaggedNoun, string>> = others;

declare const steps: Readonly<Record<DeletionStep, string>>;
// @ts-expect-error: a step that no noun names
export const step = steps.visits;
`;

/** Returns the statements of a part of the noun without one of its members, which must not compile. */
function without(value: string, member: string, part: string): string {
  const noun = value === 'visit' ? 'others' : `{ ...visit, ${part}: others }`;
  return `{
  const { ${member}: _, ...others } = ${value};
  // @ts-expect-error: ${member} is missing
  (${noun}) satisfies Noun;
}
`;
}

describe('a noun of two files and its lines in two lists', () => {
  let copy: string;
  let service: Serving.TestService;
  let commands: typeof Commands;
  let environment: Commands.Environment;
  const keys: Record<'owner' | 'visitor' | 'stranger', string> = { owner: '', visitor: '', stranger: '' };
  let ask: (who: keyof typeof keys, path: string, sending?: Serving.SendOptions) => ReturnType<typeof Serving.send>;
  before(async () => {
    copy = copyProduct(edits, { 'src/model/visit.ts': definition, 'src/store/visits/routes.ts': room });
    const { serve, send } = (await import(join(copy, 'test/support/serving.ts'))) as typeof Serving;
    commands = await import(join(copy, 'test/support/commands.ts'));
    const clock = testClock(Date.parse('2026-11-21T12:00:00Z'));
    service = await serve({ clock, environment: { PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' } });
    environment = { PETSTORE_DATA_DIR: dirname(service.file) };
    for (const who of ['owner', 'visitor', 'stranger'] as const) keys[who] = (await service.newKey()).token;
    ask = (who, path, sending) => send(`${service.urls.production}${path}`, { key: keys[who], ...sending });
    const pet = await ask('owner', '/pets', { method: 'POST', body: { name: 'Minka', categoryId: 2 } });
    assert.equal(pet.status, 201);
    const visit = await ask('visitor', '/visits', { method: 'POST', body: { petId: pet.body.id, note: 'Hello' } });
    assert.deepEqual([visit.status, visit.body.accountId], [201, 2], JSON.stringify(visit.body));
  });
  after(async () => {
    await service?.stop();
    rmSync(copy, { recursive: true, force: true });
  });

  it('compiles, and does not without any of its parts', { skip: skipFor(withoutServers) }, () =>
    assertCompiles(copy, uses),
  );

  it('has a table, and operations', async () => {
    const { body } = await ask('visitor', '/visits');
    assert.deepEqual(
      body.map(({ id, petId, note }: Record<string, unknown>) => [id, petId, note]),
      [[1, 1, 'Hello']],
    );
    assert.deepEqual((await ask('stranger', '/visits')).body, []);
    const strict = { headers: { prefer: 'handling=strict' }, method: 'POST', body: { petId: 'one' } };
    assert.equal((await ask('visitor', '/visits', strict)).body.errors[0].path, '/petId');
  });

  it('has events that its parties see', async () => {
    const seenBy = async (who: keyof typeof keys) => (await ask(who, '/events?types=visit.created,visit.*')).body;
    const [seen] = await seenBy('visitor');
    assert.deepEqual([seen.type, seen.accountId, seen.data.id, seen.data.note], ['visit.created', 2, 1, 'Hello']);
    assert.deepEqual(seen.changes.note, { to: 'Hello' });
    const [known] = await seenBy('owner');
    assert.deepEqual([known.type, known.accountId], ['visit.created', undefined]);
    assert.deepEqual(await seenBy('stranger'), []);
    const { status } = await ask('owner', '/events?types=visit.postponed');
    assert.equal(status, 400);
  });

  it('is in the OpenAPI document', async () => {
    const document = await (await fetch(new URL('/openapi.json', service.urls.production))).json();
    assert.ok(document.tags.some(({ name }: { name: string }) => name === 'Visits'));
    assert.deepEqual(document['x-tagGroups'][1], { name: 'Store', tags: ['Holds', 'Store orders', 'Visits'] });
    assert.deepEqual(document.paths['/visits'].post.tags, ['Visits']);
    const { schemas } = document.components;
    for (const name of ['NewVisit', 'Visit', 'VisitEvent', 'VisitEventData']) assert.ok(schemas[name], name);
    for (const type of ['visit.*', 'visit.created']) assert.ok(schemas.EventFilter.enum.includes(type), type);
  });

  it('is a group of the command line', async () => {
    const { petstore, jsonOf, textOf } = commands;
    const help = await textOf(environment, 'visit', '--help');
    for (const name of ['visit list', 'visit create']) assert.match(help, new RegExp(`^ +${name} +\\S`, 'm'));
    const { note } = await jsonOf(environment, 'visit', 'create', '--account=3', '--pet=1', '--note=By telephone');
    assert.equal(note, 'By telephone');
    assert.match(await textOf(environment, 'visit', 'list'), /^ID +PET +CREATED/m);
    assert.match((await petstore(environment, 'visit', 'create')).errors, /--account/);
  });

  it('is in the export of an account', async () => {
    const { production } = await commands.jsonOf(environment, 'account', 'export', '2');
    assert.deepEqual(
      production.visits.map(({ note }: { note: string }) => note),
      ['Hello'],
    );
  });

  it('is checked by verify: its ids, its accounts and its own checks', async () => {
    const findings = async () => {
      const { printed } = await commands.petstore(environment, 'verify', '--json');
      return JSON.parse(printed).findings.map(({ finding }: { finding: string }) => finding);
    };
    assert.deepEqual(await findings(), []);
    const file = new Sqlite(service.file);
    file.exec(`insert into visits (id, pet_id, account_id, created_at) values (9, 8, 7, 0);
      update sqlite_sequence set seq = 2 where name = 'visits'`);
    assert.deepEqual(await findings(), [
      'Visit 9 is to animal 8, which does not exist.',
      'The next id of visits is 3, but id 9 exists.',
      'Account 7 does not exist, but rows refer to it.',
    ]);
    file.exec('delete from visits where id = 9');
    file.close();
  });

  it('ends with its account, and so do its events', async () => {
    const { steps } = (await import(join(copy, 'src/operate/deletion/steps.ts'))) as typeof Deletion;
    const { production } = service.app.databases;
    assert.equal(await production.write(tx => steps['visits']!(tx, 2, 0)), 1);
    assert.equal(await production.write(tx => steps['visits']!(tx, 2, 1)), undefined);
    assert.deepEqual((await ask('visitor', '/visits')).body, []);
    const [event] = (await ask('owner', '/events?types=visit.created')).body;
    assert.deepEqual(event.data, { id: 1 });
    assert.equal((await commands.jsonOf(environment, 'visit', 'list')).length, 1);
  });
});
