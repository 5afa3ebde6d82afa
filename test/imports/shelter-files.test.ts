import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { overEachEngine } from '../support/engines-over-http.ts';
import { type Reply, send, serve, type TestService } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';

const fileNamed = (name: string) => readFile(new URL(`files/${name}`, import.meta.url));

overEachEngine(engine => {
  describe('files of shelters', () => {
    let serving: TestService;
    before(async () => {
      const environment = { ...(await engine.settings()), PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' };
      serving = await serve({ environment });
    });
    after(() => serving?.stop());

    const newOwner = async () => (await serving.newKey()).token;
    const call = (key: string, method: string, path: string, body?: unknown) =>
      send(serving.urls.production + path, { method, key, ...(body !== undefined && { body }) });
    const importing = async (key: string, file: string | Buffer, query = ''): Promise<Reply['body']> => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'text/csv' };
      const response = await fetch(`${serving.urls.production}/imports${query}`, {
        method: 'POST',
        headers,
        body: file as BodyInit,
      });
      const accepted = (await response.json()) as Reply['body'];
      assert.equal(response.status, 202, JSON.stringify(accepted));
      let body: Reply['body'];
      await waitUntil(async () => {
        ({ body } = await call(key, 'GET', `/imports/${accepted.id}`));
        return body.endedAt !== undefined;
      });
      return body;
    };
    /** Imports a file, which has to have no errors and no warnings. Returns its animals by their identifiers. */
    const animalsOf = async (key: string, file: string | Buffer, query = '') => {
      const { failed, warnings, photosFailed, firstErrors } = await importing(key, file, query);
      assert.deepEqual([failed, warnings, photosFailed], [0, 0, 0], JSON.stringify(firstErrors));
      const { body } = await call(key, 'GET', '/pets?owner=me&view=full&limit=100');
      return Object.fromEntries(body.map((pet: { externalId: string }) => [pet.externalId, pet]));
    };
    const errorsOf = ({ firstErrors }: Reply['body']) =>
      firstErrors.map(({ line, column, code, suggestion }: Reply['body']) =>
        [line, column, code, suggestion].filter(part => part !== undefined).join(),
      );

    describe('an export of Animal Shelter Manager', () => {
      it('is understood as a whole', async () => {
        const key = await newOwner();
        const file = await fileNamed('asm3-export.csv');
        const tried = await importing(key, file, '?preset=asm3&dryRun=true');
        const { rows, created, failed, warnings, photosWanted, photosFailed, dates } = tried;
        assert.deepEqual([rows, created, failed, warnings, dates], [6, 6, 0, 0, 'mdy'], JSON.stringify(tried));
        assert.deepEqual([photosWanted, photosFailed], [1, 0]);
      });

      it('keeps what it says about each animal', async () => {
        const key = await newOwner();
        const file = String(await fileNamed('asm3-export.csv')).replace(/https:[^"]*/, '');
        const animals = await animalsOf(key, file, '?preset=asm3');
        const biscuit = animals['D2026041'];
        assert.partialDeepStrictEqual(biscuit, {
          name: 'Biscuit',
          categoryId: 1,
          status: 'available',
          sex: 'male',
          birthDate: '2023-04-02',
          breeds: { primary: 'Labrador Retriever', secondary: 'Beagle', mixed: true },
          weight: { value: 58.4, unit: 'lb' },
          goodWith: { children: 'yes', dogs: 'yes', cats: 'unknown' },
          traits: { houseTrained: 'yes', spayedNeutered: 'yes' },
          microchips: ['985112003456789'],
          intake: { date: '2026-10-12', kind: 'stray' },
          description: 'Walks well on a lead, and waits for you at every "corner".\nLoves children.',
        });
        assert.deepEqual([biscuit.group, biscuit.specialNeedsNotes], [undefined, undefined]);
        const { status, statusReason, outcome, goodWith, breeds } = animals['D2026042'];
        assert.deepEqual([status, statusReason], ['sold', 'Adopted']);
        assert.deepEqual(outcome, { kind: 'adoption', date: '2026-11-14' });
        assert.deepEqual([goodWith.children, goodWith.cats, breeds], ['unknown', 'no', { primary: 'Border Collie' }]);
        const pepper = animals['C2026017'];
        assert.deepEqual([pepper.status, pepper.statusReason, pepper.weight], ['available', 'In foster', undefined]);
        assert.deepEqual([pepper.intake.kind, pepper.group.id], ['transfer_in', 'L26-04']);
        const tom = animals['C2026009'];
        assert.deepEqual([tom.status, tom.outcome], ['sold', { kind: 'shelter_euthanasia', date: '2026-09-19' }]);
        const { categoryId, sex } = animals['M2026003'];
        assert.deepEqual([categoryId, sex], [4, 'unknown']);
        assert.deepEqual(
          [animals['D2026050'].status, animals['D2026050'].statusReason],
          ['pending', 'Not for adoption'],
        );
        const again = await importing(key, file, '?preset=asm3&mode=replace');
        assert.deepEqual([again.unchanged, again.updated, again.removed, again.failed], [6, 0, 0, 0]);
      });

      it('follows the animals of a later one, but leaves holds and sales here as they are', async () => {
        const key = await newOwner();
        const line = (code: string, type: string, date = '', died = '') => `${code},Rex,Dog,${type},${date},${died}\n`;
        const file = (...lines: string[]) =>
          `ANIMALCODE,ANIMALNAME,ANIMALSPECIES,MOVEMENTTYPE,MOVEMENTDATE,ANIMALDECEASEDDATE\n${lines.join('')}`;
        const query = '?preset=asm3&dates=mdy';
        await animalsOf(key, file(line('A', '1', '10/12/2026'), line('B', '0'), line('C', '0'), line('D', '0')), query);
        const idOf = async (code: string) => (await call(key, 'GET', `/pets?owner=me&externalId=${code}`)).body[0].id;
        await call(key, 'POST', '/holds', { petIds: [await idOf('B')] });
        await call(key, 'PATCH', `/pets/${await idOf('C')}`, { status: 'sold' });
        const later = file(line('A', '0'), line('B', '0'), line('C', '0'), line('D', '5', '11/2/2026', '11/20/2026'));
        const animals = await animalsOf(key, later, query);
        assert.deepEqual(
          ['A', 'B', 'C', 'D'].map(code => [animals[code].status, animals[code].outcome?.kind]),
          [
            ['available', undefined],
            ['pending', undefined],
            ['sold', undefined],
            ['sold', 'died_in_care'],
          ],
        );
      });

      it('adds a photo of each line, and no animal twice', async () => {
        const key = await newOwner();
        const photo = (number: number) => `https://photos.example/${number}.jpg`;
        const file =
          'ANIMALCODE,ANIMALNAME,ANIMALSPECIES,ANIMALIMAGE,LOGCOMMENTS\n' +
          `A,Rex,Dog,${photo(1)},\nA,Rex,,${photo(2)},\nA,Rex,,,Fed\nB,Mia,Cat,,\nA,Rex,,,Walked\nB,Mo,Dog,,\n`;
        const result = await importing(key, file, '?preset=asm3&dryRun=true');
        assert.deepEqual([result.created, result.photosWanted, result.unchanged], [2, 2, 1]);
        assert.deepEqual(errorsOf(result), ['7,duplicate_row']);
      });

      it('can have the short names of columns, and values as its import reads them', async () => {
        const key = await newOwner();
        const animals = await animalsOf(
          key,
          'CODE,NAME,SPECIES,SEX,AGE,WEIGHT,GOODWITHCATS,GOODWITHDOGS,NEUTERED,DECLAWED\n' +
            'A,Rex,dog,fem.,2,12 kg,0,1,Yes - at the clinic,0\nB,Mia,Cat,U,3 months,,Selective,nope,0,\n',
          '?preset=asm3',
        );
        const { sex, weight, goodWith, traits, birthDatePrecision } = animals['A'];
        assert.deepEqual([sex, weight, birthDatePrecision], ['female', { value: 12, unit: 'kg' }, 'estimated']);
        assert.deepEqual(goodWith, { cats: 'yes', dogs: 'no' });
        assert.deepEqual(traits, { spayedNeutered: 'yes', declawed: 'no' });
        assert.deepEqual([animals['B'].age, animals['B'].goodWith], ['baby', { cats: 'unknown', dogs: 'no' }]);
      });
    });
  });
});
