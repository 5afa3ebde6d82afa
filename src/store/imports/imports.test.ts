import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { overEachEngine } from '../../../test/support/engines-over-http.ts';
import { type Reply, send, serve, type TestService } from '../../../test/support/serving.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { presetNames } from '../exports/presets.ts';

/** A pet with every kind of column, and texts that CSV must quote. */
const rex = {
  name: ' Rex, "the dog" ',
  categoryId: 1,
  status: 'pending',
  statusReason: '=1+1',
  price: { amount: 12_500, currency: 'EUR' },
  externalId: 'A-117 ',
  breeds: { primary: 'Labrador Retriever', mixed: true, unknown: false },
  goodWith: { children: 'yes', dogs: 'no', cats: 'unknown' },
  traits: { vaccinated: 'unknown', houseTrained: 'yes' },
  energy: 4,
  weight: { value: 27.25, unit: 'kg' },
  tags: ['playful', 'Ünïcode 🐶'],
  microchips: ['276098102345678'],
  shelterLocation: 'Dog runs, 7',
  intake: { date: '2026-10-01', kind: 'stray', from: 'Main Street' },
  extra: { 'kennel no.': '7', z: '' },
  description: ' First line.\r\n\tSecond "line". \n',
};

overEachEngine(engine => {
  describe('imports', () => {
    let serving: TestService;
    before(async () => {
      const environment = { ...(await engine.settings()), PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' };
      serving = await serve({ environment });
    });
    after(() => serving?.stop());

    const url = (path: string) => serving.urls.production + path;
    const call = (key: string, method: string, path: string, body?: unknown) =>
      send(url(path), { method, key, ...(body !== undefined && { body }) });
    const newOwner = async () => (await serving.newKey()).token;
    const upload = (key: string, body: string, query = '', type = 'text/csv', headers = {}) =>
      fetch(url(`/imports${query}`), {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': type, ...headers },
        body,
      });
    const ended = async (key: string, id: number) => {
      let body: Reply['body'];
      await waitUntil(async () => {
        ({ body } = await call(key, 'GET', `/imports/${id}`));
        return body.endedAt !== undefined;
      });
      return body;
    };
    const importing = async (key: string, body: string, query = '', type = 'text/csv') => {
      const response = await upload(key, body, query, type);
      const accepted = (await response.json()) as Reply['body'];
      assert.equal(response.status, 202, JSON.stringify(accepted));
      return ended(key, accepted.id);
    };
    const exported = async (key: string, file = 'pets.csv') =>
      (await fetch(url(`/exports/${file}`), { headers: { authorization: `Bearer ${key}` } })).text();
    const countsOf = ({ created, updated, unchanged, failed, removed }: Reply['body']) => [
      created,
      updated,
      unchanged,
      failed,
      removed,
    ];
    const pets = async (key: string) =>
      (await exported(key, 'pets.ndjson'))
        .split('\n')
        .filter(line => line !== '')
        .map(line => JSON.parse(line));
    const events = async (key: string) => {
      const { body } = await call(key, 'GET', '/events?limit=100');
      return body.length;
    };

    for (const [file, type] of [
      ['pets.csv', 'text/csv'],
      ['pets.ndjson', 'application/x-ndjson'],
    ] as const) {
      it(`take an export as ${file} byte for byte, and change nothing`, async () => {
        const key = await newOwner();
        await call(key, 'POST', '/pets', rex);
        await call(key, 'POST', '/pets', { name: 'Mia', categoryId: 2 });
        const before = await exported(key, file);
        const known = await events(key);
        const { state, rows, ...counts } = await importing(key, before, '', type);
        assert.deepEqual([state, rows, ...countsOf(counts)], ['completed', 2, 0, 0, 2, 0, 0]);
        assert.equal(await exported(key, file), before);
        assert.equal(await events(key), known);
      });

      it(`restore the animals of a file in another account from ${file}`, async () => {
        const [from, to] = [await newOwner(), await newOwner()];
        await call(from, 'POST', '/pets', rex);
        const { created } = await importing(to, await exported(from, file), '', type);
        assert.equal(created, 1);
        const [{ id: _, ...pet }] = await pets(to);
        // White space around an identifier is ignored in a table, but kept in JSON.
        assert.deepEqual(pet, { ...rex, externalId: type === 'text/csv' ? 'A-117' : rex.externalId });
      });
    }

    for (const preset of presetNames.filter(name => name !== 'petstore')) {
      it(`take an export in the columns of ${preset}, and change nothing`, async () => {
        const [from, to] = [await newOwner(), await newOwner()];
        await call(from, 'POST', '/pets', { ...rex, birthDate: '2020-05-01', sex: 'female' });
        await call(from, 'POST', '/pets', { name: 'Mia', categoryId: 2, group: { id: 'L1', kind: 'litter' } });
        const file = `pets.csv?preset=${preset}`;
        const before = await exported(from, file);
        const everything = await exported(from);
        const same = await importing(from, before, `?preset=${preset}`);
        assert.deepEqual(
          [same.state, ...countsOf(same)],
          ['completed', 0, 0, 2, 0, 0],
          JSON.stringify(same.firstErrors),
        );
        assert.equal(await exported(from), everything);
        // In another account, the animals have the values of the columns.
        const added = await importing(to, before, `?preset=${preset}&currency=EUR`);
        assert.deepEqual(countsOf(added), [2, 0, 0, 0, 0], JSON.stringify(added.firstErrors));
        assert.equal(await exported(to, file), before.replaceAll('"A-117 "', 'A-117'));
        const [pet] = await pets(to);
        const isHtml = preset === 'adoptapet' || preset.startsWith('rescuegroups');
        const states =
          preset === 'asm3' ? { children: 'yes', dogs: 'no', cats: 'unknown' } : { children: 'yes', dogs: 'no' };
        assert.deepEqual([pet.name, pet.categoryId, pet.sex, pet.goodWith], [rex.name, 1, 'female', states]);
        assert.equal(pet.description, isHtml ? rex.description.replaceAll('\r\n', '\n') : rex.description);
      });
    }

    it('name the nearest valid value, in the columns of other programs too', async () => {
      const key = await newOwner();
      const result = await importing(
        key,
        'ANIMALCODE,NAME,SPECIES,SIZE,GOODWITHCATS,Neutred,DOB\n' +
          'S1,Rex,Dog,Larg,y,,2020-01-01\n' +
          'S2,Mia,Rabit,Small,N,,\n' +
          'S3,Leo,cat,small,U,,2020-31-12\n' +
          'S4,Tom,Cat,small,U,,\n',
        '?preset=asm3',
      );
      assert.deepEqual(
        result.firstErrors.map(({ level, line, column, code, suggestion }: Reply['body']) => [
          level,
          line,
          column,
          code,
          suggestion,
        ]),
        [
          ['warning', 1, 'Neutred', 'unknown_column', 'NEUTERED'],
          ['error', 2, 'SIZE', 'invalid_value', 'Large'],
          ['error', 3, 'SPECIES', 'category_not_found', 'Rabbit'],
          ['error', 4, 'DOB', 'invalid_value', undefined],
        ],
      );
      assert.deepEqual(countsOf(result), [1, 0, 0, 3, 0]);
    });

    it("set the location in the shelter from asm3's locations and units, and delete it", async () => {
      const key = await newOwner();
      const locations = async (rows: string) => {
        const header = 'ANIMALCODE,ANIMALNAME,ANIMALSPECIES,ANIMALLOCATION,ANIMALUNIT\n';
        const result = await importing(key, header + rows, '?preset=asm3');
        assert.deepEqual(result.firstErrors, []);
        return (await pets(key)).map(({ shelterLocation }) => shelterLocation);
      };
      const before = await locations(
        'S1,Rex,Dog,Dog runs ,3\nS2,Mia,Cat,Isolation,\nS3,Leo,Cat,,B2\nS4,Tom,Cat,None,\n',
      );
      assert.deepEqual(before, ['Dog runs, 3', 'Isolation', 'B2', undefined]);
      const after = await locations('S1,Rex,Dog,,\nS2,Mia,Cat,Isolation,4\n');
      assert.deepEqual(after, [undefined, 'Isolation, 4', 'B2', undefined]);
    });

    it('warn of breeds and colors that are not known, once for each in the whole file', async () => {
      const key = await newOwner();
      const rows = Array.from({ length: 60 }, (_, row) => `W${row},Rex,1,${row === 59 ? 'Poodel' : 'Beagel'},Black\n`);
      const file = `externalId,name,categoryId,breeds.primary,colors.primary\n${rows.join('')}`;
      const warningsOf = ({ warnings, firstErrors }: Reply['body']) => [
        warnings,
        firstErrors.map(({ level, line, column, code, suggestion }: Reply['body']) =>
          [level, line, column, code, suggestion].join(),
        ),
      ];
      const found = ['warning,2,breeds.primary,unknown_value,Beagle', 'warning,61,breeds.primary,unknown_value,Poodle'];
      assert.deepEqual(warningsOf(await importing(key, file, '?dryRun=true')), [2, found]);
      assert.deepEqual(warningsOf(await importing(key, file)), [2, found]);
      // Rows without changes get no further warnings.
      assert.deepEqual(warningsOf(await importing(key, file)), [0, []]);
    });

    it('warn of members of NDJSON that animals do not have, once for each', async () => {
      const key = await newOwner();
      const line = (number: number) => `{"externalId":"N-${number}","name":"Rex","categoryId":1,"colour":"red"}\n`;
      const result = await importing(key, line(1) + line(2), '', 'application/x-ndjson');
      assert.deepEqual([result.created, result.warnings], [2, 1]);
      const [{ line: at, column, code, suggestion }] = result.firstErrors;
      assert.deepEqual([at, column, code, suggestion], [1, 'colour', 'unknown_member', 'colors']);
    });

    it('change what differs, add what is new, and report the errors of rows', async () => {
      const key = await newOwner();
      await call(key, 'POST', '/pets', rex);
      await call(key, 'POST', '/pets', { name: 'Cleo', categoryId: 2, externalId: 'C-1' });
      const result = await importing(
        key,
        'externalId,name,categoryId,goodWith.cats,price.amount,price.currency\r\n' +
          'A-117 ,Rex,1,no,,\r\n' +
          'B-1,Milo,2,unknown,100,EUR\r\n' +
          'B-2,Luna,2,perhaps,,\r\n' +
          'B-1,Again,2,,,\r\n' +
          ',Nobody,2,,,\r\n' +
          'B-3,,2,,,\r\n' +
          'B-4,Short\r\n' +
          'C-1,,2,,,\r\n',
      );
      assert.deepEqual([result.state, ...countsOf(result)], ['completed', 1, 1, 0, 6, 0]);
      const lines = (
        await (await fetch(url(`/imports/${result.id}/errors`), { headers: { authorization: `Bearer ${key}` } })).text()
      )
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line));
      assert.deepEqual(
        lines.map(({ line, column, code, value }) => [line, column, code, value]),
        [
          [4, 'goodWith.cats', 'invalid_value', 'perhaps'],
          [5, undefined, 'duplicate_row', undefined],
          [6, 'externalId', 'required', undefined],
          [7, 'name', 'required', undefined],
          [8, undefined, 'wrong_number_of_cells', undefined],
          [9, 'name', 'required', ''],
        ],
      );
      assert.deepEqual(result.firstErrors, lines);
      const [changed, , added] = await pets(key);
      const { price: _, ...rest } = rex;
      assert.deepEqual(changed, { ...rest, id: changed.id, name: 'Rex', goodWith: { ...rex.goodWith, cats: 'no' } });
      assert.deepEqual(
        [added.name, added.goodWith, added.price],
        ['Milo', { cats: 'unknown' }, { amount: 100, currency: 'EUR' }],
      );
    });

    it('change nothing in a dry run, and count what they would', async () => {
      const key = await newOwner();
      await call(key, 'POST', '/pets', rex);
      const before = await exported(key);
      const known = await events(key);
      const file = 'externalId,name,categoryId\nA-117 ,Rex,1\nB-1,Milo,2\n';
      const tried = await importing(key, file, '?dryRun=true');
      assert.deepEqual(countsOf(tried), [1, 1, 0, 0, 0]);
      assert.equal(await exported(key), before);
      assert.equal(await events(key), known);
      const done = await importing(key, file);
      assert.deepEqual(countsOf(done), countsOf(tried));
    });

    it('delete with replace the animals that a file lacks, beyond 20 % only if confirmed', async () => {
      const key = await newOwner();
      const row = (number: number) => `C-${number},Cat ${number},2\n`;
      const file = (count: number) =>
        `externalId,name,categoryId\n${Array.from({ length: count }, (_, i) => row(i)).join('')}`;
      assert.equal((await importing(key, file(10))).created, 10);
      const refused = await importing(key, file(7), '?mode=replace');
      assert.deepEqual(
        [refused.state, refused.error.code, refused.removals],
        ['failed', 'too_many_removals', { count: 3, of: 10, needConfirmation: true }],
      );
      assert.equal((await pets(key)).length, 10);
      assert.equal((await importing(key, file(7), '?mode=replace&confirmRemovals=2')).state, 'failed');
      const tried = await importing(key, file(7), '?mode=replace&dryRun=true');
      assert.deepEqual([tried.state, tried.warnings, ...countsOf(tried)], ['completed', 1, 0, 0, 7, 0, 3]);
      assert.equal((await pets(key)).length, 10);
      const [held] = await pets(key).then(all => all.filter(({ externalId }) => externalId === 'C-9'));
      await call(key, 'POST', '/holds', { petIds: [held.id] });
      const done = await importing(key, file(7), '?mode=replace&confirmRemovals=3');
      assert.deepEqual([done.state, ...countsOf(done)], ['completed', 0, 0, 7, 1, 2]);
      assert.equal(done.firstErrors[0].code, 'pet_reserved');
      assert.equal((await pets(key)).length, 8);
      assert.equal((await importing(key, file(8), '?mode=replace')).created, 1);
    });

    it('take a content type in any case, with parameters', async () => {
      const key = await newOwner();
      const csv = await importing(key, 'externalId,name,categoryId\nA,Rex,1\n', '', 'Text/CSV; charset=utf-8');
      assert.deepEqual([csv.format, csv.created], ['csv', 1]);
      const line = '{"externalId":"B","name":"Mia","categoryId":2}\n';
      const ndjson = await importing(key, line, '', 'application/x-ndjson; profile=csv');
      assert.deepEqual([ndjson.format, ndjson.created], ['ndjson', 1]);
    });

    it('reject a file that is not CSV, and keep no part of it', async () => {
      const key = await newOwner();
      for (const file of ['', 'name\nRex\n', 'externalId,name\n1,"Rex\n', 'externalId\n"a"b\n']) {
        const response = await upload(key, file);
        assert.deepEqual(
          [response.status, ((await response.json()) as Reply['body']).code],
          [400, 'invalid_import'],
          file,
        );
      }
      assert.deepEqual((await call(key, 'GET', '/imports')).body, []);
    });

    it('replay the response to a retry with the same Idempotency-Key', async () => {
      const key = await newOwner();
      const file = 'externalId,name,categoryId\nA,Rex,1\n';
      const again = () => upload(key, file, '', 'text/csv', { 'idempotency-key': 'once' });
      const first = (await (await again()).json()) as Reply['body'];
      await ended(key, first.id);
      const second = await again();
      assert.equal(second.headers.get('idempotency-replayed'), 'true');
      assert.deepEqual(await second.json(), first);
      assert.equal((await call(key, 'GET', '/imports')).body.length, 1);
      assert.equal((await pets(key)).length, 1);
    });

    it('belong to one account', async () => {
      const [owner, stranger] = [await newOwner(), await newOwner()];
      const { id } = await importing(owner, 'externalId,name,categoryId\nA,Rex,1\n');
      for (const path of [`/imports/${id}`, `/imports/${id}/errors`]) {
        assert.equal((await call(stranger, 'GET', path)).body.code, 'import_not_found');
      }
      assert.equal((await call(stranger, 'POST', `/imports/${id}/cancellation`)).body.code, 'import_not_found');
      assert.equal((await call(owner, 'POST', `/imports/${id}/cancellation`)).body.state, 'completed');
    });
  });
});
