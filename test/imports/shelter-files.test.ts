import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { presetNames } from '../../src/store/exports/presets.ts';
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
    const upload = (key: string, file: string | Buffer, query = '', type = 'text/csv') =>
      fetch(`${serving.urls.production}/imports${query}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': type },
        body: file as BodyInit,
      });
    /** Returns why a file is refused as a whole. */
    const refusalOf = async (...sent: Parameters<typeof upload>): Promise<string> => {
      const response = await upload(...sent);
      const { code, message } = (await response.json()) as Reply['body'];
      assert.deepEqual([response.status, code], [400, 'invalid_import']);
      return message;
    };
    const importing = async (key: string, file: string | Buffer, query = ''): Promise<Reply['body']> => {
      const response = await upload(key, file, query);
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

      it('can have photos in the file, which are errors beside their animals', async () => {
        const key = await newOwner();
        const photo = `"data:image/jpeg;base64,${'/9j/4AAQ'.repeat(150_000)}"`;
        const file =
          'ANIMALCODE,ANIMALNAME,ANIMALSPECIES,ANIMALIMAGE\n' +
          `A,Rex,Dog,${photo}\nB,Mia,Cat,${photo}\nB,Mia,,https://photos.example/1.jpg\nC,Leo,Cat,\n`;
        const result = await importing(key, file, '?preset=asm3&dryRun=true');
        assert.deepEqual([result.created, result.failed, result.photosWanted, result.photosFailed], [3, 0, 3, 2]);
        assert.deepEqual(errorsOf(result), ['2,ANIMALIMAGE,photo_in_file', '3,ANIMALIMAGE,photo_in_file']);
        const own = `code,name,species,description\nA,Rex,Dog,${photo}\nB,Mia,Cat,\n`;
        assert.deepEqual(errorsOf(await importing(key, own)), ['2,description,too_long']);
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

    for (const [name, dates, pounds] of [
      ['libreoffice-calc.csv', 'mdy', 9.5],
      ['libreoffice-calc-windows-1252.csv', 'dmy', undefined],
      ['gnumeric.csv', 'ymd', 9.5],
      ['gnumeric-semicolons.csv', 'mdy', 9.5],
      ['excel-csv.csv', 'mdy', 9.5],
      ['excel-csv-semicolons.csv', 'mdy', 9.5],
      ['excel-csv-utf-8.csv', 'mdy', 9.5],
      ['excel-unicode-text.txt', 'mdy', 9.5],
    ] as const) {
      it(`can be a list saved as ${name}`, async () => {
        const key = await newOwner();
        const file = await fileNamed(name);
        const tried = await importing(key, file, '?dryRun=true');
        assert.deepEqual(
          [tried.created, tried.failed, tried.warnings, tried.dates],
          [3, 0, 0, dates],
          JSON.stringify(tried),
        );
        const animals = await animalsOf(key, file);
        assert.partialDeepStrictEqual(animals['R-101'], {
          name: 'Zoë',
          categoryId: 1,
          sex: 'female',
          breeds: { primary: 'Beagle' },
          colors: { primary: 'Black' },
          birthDate: '2023-04-13',
          weight: { value: 24, unit: 'lb' },
          goodWith: { cats: 'yes', dogs: 'no', children: 'unknown' },
          traits: { spayedNeutered: 'yes' },
          intake: { date: '2026-10-12', kind: 'other' },
          tags: ['playful', 'calm'],
          description: 'Likes "squeaky" toys; chews them.\nWalks on a lead.',
        });
        const { birthDate, weight, goodWith } = animals['R-102'];
        assert.deepEqual([birthDate, goodWith], ['2025-11-02', { cats: 'yes', dogs: 'no', children: 'unknown' }]);
        assert.deepEqual(weight, pounds ? { value: pounds, unit: 'lb' } : { value: 4.3, unit: 'kg' });
        assert.deepEqual([animals['R-103'].name, animals['R-103'].sex], ['Nuño', 'unknown']);
        const again = await importing(key, file, '?mode=replace');
        assert.deepEqual([again.unchanged, again.failed, again.warnings, again.removed], [3, 0, 0, 0]);
      });
    }

    it('can be a list for Petfinder', async () => {
      const key = await newOwner();
      const file = await fileNamed('petfinder.csv');
      const tried = await importing(key, file, '?preset=petfinder&currency=USD&dryRun=true');
      assert.deepEqual(
        [tried.created, tried.failed, tried.warnings, tried.dates],
        [4, 0, 0, 'ymd'],
        JSON.stringify(tried),
      );
      assert.deepEqual([tried.photosWanted, tried.photosFailed], [1, 0]);
      const animals = await animalsOf(key, String(file).replace(/https:[^,]*/, ''), '?preset=petfinder&currency=USD');
      assert.deepEqual(
        ['P-1', 'P-2', 'P-3', 'P-4'].map(id => [animals[id].status, animals[id].categoryId]),
        [
          ['available', 1],
          ['sold', 1],
          ['pending', 2],
          ['pending', 4],
        ],
      );
      assert.deepEqual(animals['P-1'].goodWith, { cats: 'no', children: 'yes' });
    });

    it('can be lists for Adopt-a-Pet and RescueGroups, with values as people write them', async () => {
      const adoptapet = await animalsOf(
        await newOwner(),
        'Id,Animal,Name,Age,Sex,GoodWCats,Birthdate,Sizecurrent,SizeUOM\nA,Dog,Rex,Adult,m,x,4/13/2023,24,Pounds\n',
        '?preset=adoptapet',
      );
      const { sex, goodWith, birthDate, weight } = adoptapet['A'];
      assert.deepEqual([sex, goodWith, birthDate], ['male', { cats: 'yes' }, '2023-04-13']);
      assert.deepEqual(weight, { value: 24, unit: 'lb' });
      const rescuegroups = await animalsOf(
        await newOwner(),
        'externalID,name,status,type,age,okwithdogs,found,foundDate\n' +
          'A,Rex,hold,Dog,2 years,TRUE,Yes,10/13/2026\nB,Mia,adoptable,Cat,kitten,n,No,\n',
        '?preset=rescuegroups-import',
      );
      assert.deepEqual(
        ['A', 'B'].map(id => [rescuegroups[id].status, rescuegroups[id].intake, rescuegroups[id].goodWith.dogs]),
        [
          ['pending', { date: '2026-10-13', kind: 'stray' }, 'yes'],
          ['available', undefined, 'no'],
        ],
      );
      assert.deepEqual([rescuegroups['A'].birthDatePrecision, rescuegroups['B'].age], ['estimated', 'baby']);
    });

    it('are refused with the name of the preset that their columns belong to', async () => {
      const key = await newOwner();
      for (const preset of presetNames) {
        const url = `${serving.urls.production}/exports/pets.csv?preset=${preset}`;
        const file = await (await fetch(url, { headers: { authorization: `Bearer ${key}` } })).text();
        for (const other of presetNames.filter(name => name !== preset)) {
          const message = await refusalOf(key, file, `?preset=${other}`);
          assert.match(message, new RegExp(`choose it under "Columns of the file", or send .preset=${preset}.\\.`));
        }
      }
      const list = 'code,name,species,breed,sex,dob,dogs,cats,kids,size,color\n';
      assert.equal((await importing(key, list)).rows, 0);
      const line = '{"ANIMALCODE":"A","ANIMALNAME":"Rex","ANIMALSPECIES":"Dog"}';
      assert.match(await refusalOf(key, line, '', 'application/x-ndjson'), /those of Animal Shelter Manager/);
    });

    it('are refused with what to do if they are of another kind', async () => {
      const key = await newOwner();
      for (const [beginning, expected] of [
        ['PK\x03\x04\x14\0\x06\0', /^The file is a spreadsheet \(.xlsx, .ods, .numbers\) .* Save it as CSV/],
        ['\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1', /^The file is an Excel workbook \(.xls\). Save it as CSV/],
        ['\x1F\x8B\x08\0', /compressed with gzip. Decompress it/],
        ['%PDF-1.7\n', /^The file is a PDF document. Export the animals as CSV/],
        ['{\\rtf1\\ansi', /^The file is an RTF document/],
        ['\xEF\xBB\xBF\r\n<!DOCTYPE html><table>', /^The file is HTML or XML/],
        ['[\n  {\n    "name": "Rex"', /^The file is a JSON array. Write each animal as an object on a line/],
      ] as const) {
        for (const type of ['text/csv', 'application/x-ndjson']) {
          assert.match(await refusalOf(key, Buffer.from(`${beginning}\n`, 'latin1'), '', type), expected);
        }
      }
    });

    describe('dates', () => {
      const file = (...dates: string[]) =>
        `code,name,species,dob\n${dates.map((date, row) => `D-${row},Rex,Dog,"${date}"\n`).join('')}`;
      const born = (animals: Record<string, { birthDate: string }>) =>
        Object.values(animals).map(({ birthDate }) => birthDate);

      it('are read in the order that is sent, or that a file leaves no doubt about', async () => {
        for (const [query, dates, expected] of [
          ['', ['4/2/2023', '04/13/2024 00:00', '5 May 2022'], ['2023-04-02', '2024-04-13', '2022-05-05']],
          [
            '',
            ['4.2.2023', '13.4.2024', '2020-1-2', 'May 1, 2021'],
            ['2023-02-04', '2024-04-13', '2020-01-02', '2021-05-01'],
          ],
          ['', ['4/2/23', '4/30/98', '7-Mar-24'], ['2023-04-02', '1998-04-30', '2024-03-07']],
          ['', ['2/2/2023'], ['2023-02-02']],
          ['?dates=dmy', ['4/2/2023', '2/4/99'], ['2023-02-04', '1999-04-02']],
          ['?dates=mdy', ['4/2/2023'], ['2023-04-02']],
          ['?dates=ymd', ['23-04-02'], ['2023-04-02']],
        ] as const) {
          assert.deepEqual(born(await animalsOf(await newOwner(), file(...dates), query)), expected, dates.join());
        }
      });

      it('are errors if their order is not clear, or is another one than was sent', async () => {
        const key = await newOwner();
        const unclear = await importing(key, file('4/2/2023', '5/5/2023', '2023-31-05'));
        assert.equal(unclear.dates, undefined);
        assert.deepEqual(errorsOf(unclear), ['2,dob,date_order_required', '4,dob,invalid_value']);
        const contrary = await importing(key, file('4/13/2023', '13/4/2023', '4/2/2023'), '?dryRun=true');
        assert.deepEqual(errorsOf(contrary), ['3,contrary_dates', '4,dob,date_order_required']);
        assert.match(contrary.firstErrors[0].message, /two orders: 4\/13\/2023 in line 2, and 13\/4\/2023 here/);
        const wrong = await importing(key, file('13/4/2023'), '?dates=mdy&dryRun=true');
        assert.deepEqual([wrong.dates, errorsOf(wrong)], ['mdy', ['2,dob,invalid_value']]);
      });
    });

    it('can have answers in the words of their columns', async () => {
      const key = await newOwner();
      const list =
        'Code,Name,Species,Sex,Neutered,Shots,Good with cats\nA,Rex,Dog,F,Spayed,UTD,☑\nB,Mia,Cat,m,intact,Up to date,☐\n' +
        'C,Leo,Dog,neutered male,,current,\nD,Zoe,Cat,F (spayed),no,,\nE,Max,Dog,"Male, intact",,,\nF,Bo,Dog,F/S,,,\nG,Bo,Dog,MN,,,\n';
      const animals = await animalsOf(key, list);
      const answersOf = ({ sex, traits, goodWith }: Reply['body']) => [
        sex,
        traits?.spayedNeutered,
        traits?.vaccinated,
        goodWith?.cats,
      ];
      assert.deepEqual(
        ['A', 'B', 'C', 'D', 'E', 'F', 'G'].map(code => answersOf(animals[code])),
        [
          ['female', 'yes', 'yes', 'yes'],
          ['male', 'no', 'yes', 'no'],
          ['male', 'yes', 'yes', undefined],
          ['female', 'no', undefined, undefined],
          ['male', 'no', undefined, undefined],
          ['female', 'yes', undefined, undefined],
          ['male', 'yes', undefined, undefined],
        ],
      );
      const again = await importing(key, list);
      assert.deepEqual([again.unchanged, again.updated], [7, 0]);
      const petfinder =
        'ID,AnimalName,Type,Sex,Altered,Shots\nA,Rex,Dog,Spayed Female,,utd\nB,Mia,Cat,F,fixed,not current\n';
      assert.deepEqual(errorsOf(await importing(key, petfinder, '?preset=petfinder')), ['3,Shots,invalid_value']);
      const asm3 = await animalsOf(
        await newOwner(),
        'ANIMALCODE,ANIMALNAME,ANIMALSPECIES,ANIMALSEX,ANIMALNEUTERED\nA,Rex,Dog,Neutered male,\nB,Mia,Cat,F,Intact\n',
        '?preset=asm3',
      );
      assert.deepEqual(answersOf(asm3['A']).slice(0, 2), ['male', 'yes']);
      assert.deepEqual(answersOf(asm3['B']).slice(0, 2), ['female', 'no']);
      const names = 'ANIMALCODE,ANIMALNAME,ANIMALSPECIES,ANIMALSEX,ANIMALNEUTERED,ANIMALSIZE\n';
      const builtIn = await importing(key, `${names}Z,Rex,Dog,constructor,__proto__,constructor\n`, '?preset=asm3');
      assert.deepEqual(errorsOf(builtIn), ['2,ANIMALSEX,invalid_value', '2,ANIMALSIZE,invalid_value']);
      const wrong = 'code,name,species,sex,neutered\nF,Rex,Dog,not spayed female,unspayd\nG,Rex,Dog,neutered,current\n';
      assert.deepEqual(errorsOf(await importing(key, wrong)), [
        '2,sex,invalid_value',
        '2,neutered,invalid_value',
        '3,sex,invalid_value',
        '3,neutered,invalid_value',
      ]);
    });

    it('can have statuses and species as people write them', async () => {
      const key = await newOwner();
      const list =
        'code,name,species,status,dob\nA,Rex,Puppy,In foster,\nB,Mia,kitten,Transferred,2020-05-01\nC,Leo,Canine,Reclaimed,\n' +
        'D,Zoe,Cats,Deceased,\nE,Max,Dogs,Medical hold,\nG,Hops,Bunny,Pending adoption,\n';
      const animals = await animalsOf(key, list);
      assert.deepEqual(
        ['A', 'B', 'C', 'D', 'E', 'G'].map(code => {
          const { categoryId, status, age, birthDate } = animals[code];
          return [categoryId, status, age, birthDate];
        }),
        [
          [1, 'available', 'baby', undefined],
          [2, 'sold', 'adult', '2020-05-01'],
          [1, 'sold', undefined, undefined],
          [2, 'sold', undefined, undefined],
          [1, 'pending', undefined, undefined],
          [3, 'pending', undefined, undefined],
        ],
      );
      const again = await importing(key, list);
      assert.deepEqual([again.unchanged, again.updated], [6, 0]);
      const petfinder = 'ID,AnimalName,Type,Status,Age\nF,Rex,Puppy,Transferred,Adult\n';
      assert.deepEqual(errorsOf(await importing(key, petfinder, '?preset=petfinder')), []);
      const { body } = await call(key, 'GET', '/pets?owner=me&view=full&externalId=F');
      assert.deepEqual([body[0].categoryId, body[0].status, body[0].age], [1, 'sold', 'adult']);
    });

    it('can have fees with the sign of their currency, and kinds of intakes in words', async () => {
      const key = await newOwner();
      const file = 'ID,AnimalName,Type,adoption_fee\nA,Rex,Dog,$125.00\n';
      for (const [currency, expected] of [
        ['', ['2,adoption_fee,currency_required']],
        ['&currency=EUR', ['2,adoption_fee,invalid_value']],
        ['&currency=USD', []],
      ] as const) {
        assert.deepEqual(errorsOf(await importing(key, file, `?preset=petfinder${currency}`)), expected);
      }
      const list = 'code,name,species,intake.date,intake.kind,good w/ cats\nB,Mia,Cat,2026-10-01,Owner Surrender,y\n';
      const animals = await animalsOf(key, list);
      assert.deepEqual(animals['A'].price, { amount: 12_500, currency: 'USD' });
      assert.deepEqual(animals['B'].intake, { date: '2026-10-01', kind: 'owner_surrender' });
      assert.deepEqual(animals['B'].goodWith, { cats: 'yes' });
    });

    it('can have cells that say that there is no value', async () => {
      const head = 'code,name,species,status,sex,dob,age,size,coat,weight,energy,microchip,mixed,vaccinated,intake';
      for (const nothing of ['-', '—', 'n/a', 'Unknown', '?']) {
        const key = await newOwner();
        const cells = Array(10).fill(nothing).join();
        const { A } = await animalsOf(key, `${head}\nA,Rex,Dog,,-,${cells}\n`);
        assert.deepEqual(Object.keys(A.traits ?? {}), /-|—/.test(nothing) ? [] : ['vaccinated']);
        const { sex, birthDate, age, size, coat, weight, energy, microchips, intake } = A;
        assert.deepEqual(
          [sex, birthDate, age, size, coat, weight, energy, microchips, intake].filter(value => value !== undefined),
          [],
        );
        const status = await importing(key, `code,name,species,status\nB,Mia,Cat,${nothing}\n`);
        assert.deepEqual(errorsOf(status), ['2,status,invalid_value']);
        const petfinder =
          'ID,AnimalName,Type,Sex,Size,Age,birth_date,coat_length,adoption_fee,NoCats,arrival_date\n' +
          `C,Leo,Dog,-,${Array(7).fill(nothing).join()}\n`;
        const result = await importing(key, petfinder, '?preset=petfinder');
        assert.deepEqual([result.created, errorsOf(result)], [1, []]);
      }
      const asm3 = await animalsOf(
        await newOwner(),
        'ANIMALCODE,ANIMALNAME,ANIMALSPECIES,ANIMALDECEASEDDATE,ANIMALEUTHANIZED,MOVEMENTDATE\nA,Rex,Dog,-,n/a,-\n',
        '?preset=asm3',
      );
      assert.equal(asm3['A'].status, 'available');
    });

    it('can have microchips as people write them', async () => {
      const chips = [
        '985 112 003 456 789',
        '985-112-003-456-780',
        'none',
        'No',
        'N/A',
        '0A12345678',
        '985112003456789 985112003456780',
      ];
      const lines = chips.map((chip, row) => `${row},Rex,Dog,${chip}\n`).join('');
      for (const [names, query] of [
        ['code,name,species,microchip', ''],
        ['ANIMALCODE,ANIMALNAME,ANIMALSPECIES,ANIMALMICROCHIP', '?preset=asm3'],
      ] as const) {
        const key = await newOwner();
        const result = await importing(key, `${names}\n${lines}`, query);
        assert.deepEqual(errorsOf(result), [`8,${names.split(',')[3]},invalid_value`]);
        const { body } = await call(key, 'GET', '/pets?owner=me&view=full');
        assert.deepEqual(
          body.map(({ microchips }: Reply['body']) => microchips?.[0]),
          ['985112003456789', '985112003456780', undefined, undefined, undefined, '0A12345678'],
        );
      }
    });

    it('can have ages and weights as people write them', async () => {
      const key = await newOwner();
      const list =
        'Code,Name,Category,Age,Weight\nA,Rex,Dog,2 years 3 months,12 lb 8 oz\nB,Mia,cat,8 wks old,900 g\nC,Leo,2,Senior,"5,4kg"\n';
      const animals = await animalsOf(key, list);
      assert.deepEqual(
        ['A', 'B', 'C'].map(code => [animals[code].age, animals[code].birthDatePrecision, animals[code].weight]),
        [
          ['adult', 'estimated', { value: 12.5, unit: 'lb' }],
          ['baby', 'estimated', { value: 900, unit: 'g' }],
          ['senior', undefined, { value: 5.4, unit: 'kg' }],
        ],
      );
      const again = await importing(key, list);
      assert.deepEqual([again.unchanged, again.updated], [3, 0]);
      const ages = [
        '3 yo',
        '3y/o',
        '2y3m',
        '2Y 3M',
        'approx. 2 years',
        'About 2 years',
        '~2 yrs',
        'est 27 mos',
        '2 1/2 yrs',
        '2½',
        '3 y.o',
      ];
      const lines = ages.map((age, row) => `E-${row},Max,Dog,${age}\n`);
      const read = await importing(key, `code,name,species,age\n${lines.join('')}`);
      assert.deepEqual([read.created, errorsOf(read)], [10, ['12,age,invalid_value']]);
      const { body } = await call(key, 'GET', '/pets?owner=me&view=full&limit=100');
      const births = body.filter(({ externalId }: Reply['body']) => externalId.startsWith('E-'));
      const [yo, yo2, years, years2, about, about2, tilde, months, half, half2] = births.map(
        (pet: Reply['body']) => pet.birthDate,
      );
      assert.ok(yo === yo2 && yo < years && years === years2 && years < about && about === about2 && about === tilde);
      assert.equal(months, years);
      assert.ok(yo < half && half === half2 && half < years);
      for (const [name, weight] of [
        ['Weight (lbs)', { value: 12, unit: 'lb' }],
        ['Weight kg', { value: 12, unit: 'kg' }],
      ] as const) {
        const { H } = await animalsOf(await newOwner(), `code,name,species,${name}\nH,Max,Dog,12\n`);
        assert.deepEqual(H.weight, weight);
      }
      const wrong = await importing(key, 'code,name,species,weight,age\nD,Max,Dog,12,old\n');
      assert.deepEqual(errorsOf(wrong), ['2,weight,invalid_value', '2,age,invalid_value']);
    });

    it('have one animal of an identifier, whatever spaces are around it', async () => {
      const key = await newOwner();
      const head = 'externalId,name,categoryId\n';
      await importing(key, `${head} E1,Rex,1\n`);
      const result = await importing(key, `${head}E1 ,Rex,1\n E1,Max,1\n`);
      assert.deepEqual([result.unchanged, errorsOf(result)], [1, ['3,duplicate_row']]);
      // Identifiers that have spaces stay those of their animals.
      await call(key, 'POST', '/pets', { name: 'Old', categoryId: 1, externalId: ' E2' });
      const replaced = await importing(key, `${head}E1,Rex,1\n E2,Older,1\n`, '?mode=replace');
      assert.deepEqual([replaced.unchanged, replaced.updated, replaced.created, replaced.removed], [1, 1, 0, 0]);
    });

    it('have all errors of a row at once', async () => {
      const key = await newOwner();
      const result = await importing(
        key,
        'externalId,name,species,sex,birthDate,energy,microchips,photo\n' +
          'A,,Dogg,femal,2999-01-01,9,12345,x\n,Mia,Cat,mal,,3,,\n',
      );
      assert.deepEqual(errorsOf(result), [
        '1,photo,unknown_column',
        '2,species,category_not_found,Dog',
        '2,sex,invalid_value,female',
        '2,birthDate,out_of_range',
        '2,name,required',
        '2,energy,out_of_range',
        '2,microchips,invalid_value',
        '3,externalId,required',
        '3,sex,invalid_value,male',
      ]);
    });

    it('leave an animal in a category below the one that they name', async () => {
      const key = await newOwner();
      const { body: category } = await call(key, 'POST', '/categories', { name: 'Cavies', parentId: 4 });
      await call(key, 'POST', '/pets', { name: 'Peanut', categoryId: category.id, externalId: 'A' });
      for (const [species, query] of [
        ['small and furry', '?dryRun=true'],
        ['Small & furry', ''],
        ['Guinea pig', ''],
        ['Small&Furry', '?preset=petfinder'],
      ] as const) {
        const names = query.includes('preset') ? 'ID,AnimalName,Type' : 'code,name,species';
        const { unchanged, firstErrors } = await importing(key, `${names}\nA,Peanut,${species}\n`, query);
        assert.equal(unchanged, species === 'small and furry' ? 0 : 1, JSON.stringify(firstErrors));
      }
    });

    it('are read quickly, whatever their cells have', async () => {
      const key = await newOwner();
      const long = ' 1:11'.repeat(150_000);
      const before = process.cpuUsage();
      const file = `code,name,species,dob,weight,age\nA,Rex,Dog,"${long}\n.",${'9'.repeat(200_000)},\nB,Mia,Cat,,,${'1 y '.repeat(100_000)}\n`;
      const result = await importing(key, file);
      assert.deepEqual(errorsOf(result), ['2,dob,invalid_value', '2,weight,invalid_value', '4,age,invalid_value']);
      assert.ok(process.cpuUsage(before).user < 3e6);
    });

    it('may lack cells at the end of rows, as Excel leaves them out, but not those that every row needs', async () => {
      const key = await newOwner();
      const animals = await animalsOf(key, 'Code,Name,Species,Color,Description\nA,Rex,Dog,Black,Calm\nB,Mia,Cat\n');
      assert.deepEqual([animals['A'].description, animals['B'].description], ['Calm', undefined]);
      const result = await importing(
        key,
        'Code,Name,Species,Color,Description\nA,Rex,Dog\nB,Mia\nC,Leo,Cat,Black,Kind,shy\n',
      );
      assert.deepEqual(
        [result.unchanged, errorsOf(result)],
        [1, ['3,wrong_number_of_cells', '4,wrong_number_of_cells']],
      );
    });

    it('have the errors of photos with those of their row', async () => {
      const file = 'ID,AnimalName,Type,photo1\nA,Rex,Dogg,http://192.0.2.1/rex.jpg\n';
      const result = await importing(await newOwner(), file, '?preset=petfinder');
      assert.deepEqual(errorsOf(result), ['2,Type,category_not_found,Dog', '2,photo1,invalid_url']);
    });

    it('have columns with the names of fields before those with other names for them, and the first of one name', async () => {
      const file = 'Type,Code,Name,Species,name,Nam\nD (Dog),A,Rex,Dog,Max,Leo\n';
      const result = await importing(await newOwner(), file);
      assert.deepEqual(
        [result.created, errorsOf(result)],
        [1, ['1,Type,duplicate_column', '1,name,duplicate_column', '1,Nam,unknown_column,name']],
      );
      assert.match(result.firstErrors[0].message, /twice: Species is read/);
      assert.match(result.firstErrors[1].message, /twice: the first one is read/);
    });

    it('get no suggestion that reverses the meaning of a value', async () => {
      const key = await newOwner();
      const result = await importing(
        key,
        'ID,AnimalName,Type,Status,Sex,Altered,coat_length\nA,Rex,Dog,Z,W,2,Shord\n',
        '?preset=petfinder',
      );
      assert.deepEqual(errorsOf(result), [
        '2,Status,invalid_value',
        '2,Sex,invalid_value',
        '2,Altered,invalid_value',
        '2,coat_length,invalid_value,Short',
      ]);
      const own = await importing(key, 'code,name,species,status,sex\nA,Rex,Dog,unavailable,emale\n');
      assert.deepEqual(errorsOf(own), ['2,status,invalid_value', '2,sex,invalid_value']);
    });
  });
});
