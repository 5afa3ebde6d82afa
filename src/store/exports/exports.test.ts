import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { overEachEngine } from '../../../test/support/engines-over-http.ts';
import { send, serve, type TestService } from '../../../test/support/serving.ts';
import { csv } from './routes.ts';

/** A pet with every field, and with texts that CSV must quote. */
const pet = {
  name: ' Rex, "the dog" ',
  categoryId: 1,
  status: 'pending',
  statusReason: '=1+1',
  price: { amount: 12_500, currency: 'EUR' },
  externalId: 'A-117 ',
  breeds: { primary: 'Labrador Retriever', mixed: true, unknown: false },
  goodWith: { children: 'yes', dogs: 'no', cats: 'unknown' },
  energy: 4,
  weight: { value: 27.25, unit: 'kg' },
  tags: ['playful', 'Ünïcode 🐶'],
  microchips: ['276098102345678'],
  shelterLocation: 'Dog runs, Building 2, 7',
  intake: { date: '2026-10-01', kind: 'stray', from: 'Main Street' },
  extra: { 'kennel no.': '7', z: '' },
  description: ' First line.\r\n\tSecond "line". \n',
};

describe('an export', () => {
  it('is refused while the account has two in progress', async () => {
    const context = { eventBus: { lastPosition: async () => 0 } };
    const start = async (accountId: number) => {
      const response = await csv.handle({ context, caller: { accountId }, query: {} } as never);
      return response.file!.parts[Symbol.asyncIterator]();
    };
    const first = await start(1);
    const second = await start(1);
    await Promise.all([first.next(), second.next()]);
    await assert.rejects(start(1), { code: 'export_limit_exceeded' });
    await start(2);
    await second.return!();
    await start(1);
  });
});

overEachEngine(engine => {
  describe('exports', () => {
    let serving: TestService;
    let owner: string;
    let stranger: string;
    before(async () => {
      const environment = { ...(await engine.settings()), PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' };
      serving = await serve({ environment });
      ({ token: owner } = await serving.newKey());
      ({ token: stranger } = await serving.newKey());
      const { body } = await send(`${serving.urls.production}/pets`, { method: 'POST', key: owner, body: pet });
      assert.equal(body.id, 1);
    });
    after(() => serving?.stop());

    const get = (path: string, key = owner, method = 'GET') =>
      fetch(`${serving.urls.production}/exports/${path}`, { method, headers: { authorization: `Bearer ${key}` } });

    it('write every field of NDJSON as it was sent', async () => {
      const response = await get('pets.ndjson');
      assert.equal(response.headers.get('content-type'), 'application/x-ndjson');
      assert.deepEqual(JSON.parse(await response.text()), { id: 1, ...pet });
    });

    it('quote the cells of CSV, and leave empty what has no value', async () => {
      const text = await (await get('pets.csv')).text();
      const [header, ...rest] = text.split('\r\n');
      assert.match(header!, /^id,name,categoryId,status,statusReason,price\.amount,price\.currency,/);
      assert.match(rest.join('\r\n'), /^1," Rex, ""the dog"" ",1,pending,=1\+1,12500,EUR,"A-117 ",/);
      assert.ok(text.includes('" First line.\r\n\tSecond ""line"". \n"'));
    });

    it('write all pages of many animals once, and those of other accounts never', async () => {
      assert.equal(await (await get('pets.ndjson', stranger)).text(), '');
      for (let number = 0; number < 205; number++) {
        const body = { name: `Cat ${number}`, categoryId: 2 };
        assert.equal((await send(`${serving.urls.production}/pets`, { method: 'POST', key: owner, body })).status, 201);
      }
      const lines = (await (await get('pets.ndjson')).text()).trimEnd().split('\n');
      const ids = lines.map(line => JSON.parse(line).id);
      assert.deepEqual(
        ids,
        [...new Set(ids)].sort((a, b) => a - b),
      );
      assert.equal(ids.length, 206);
    });

    it('write the columns of other programs, with three states', async () => {
      const cells = async (preset: string) =>
        JSON.parse((await (await get(`pets.ndjson?preset=${preset}`)).text()).split('\n')[0]!);
      const petfinder = await cells('petfinder');
      assert.deepEqual(
        [
          'ID',
          'AnimalName',
          'Type',
          'Status',
          'NoKids',
          'NoDogs',
          'NoCats',
          'Mix',
          'Altered',
          'adoption_fee',
          'tags',
        ].map(name => petfinder[name]),
        ['A-117 ', ' Rex, "the dog" ', 'Dog', 'H', '0', '1', '', '1', '', '125.00', 'playful,Ünïcode 🐶'],
      );
      assert.equal(petfinder.Desc, pet.description);
      const asm3 = await cells('asm3');
      assert.deepEqual(
        [
          'ANIMALCODE',
          'ANIMALSPECIES',
          'ANIMALGOODWITHKIDS',
          'ANIMALGOODWITHDOGS',
          'ANIMALGOODWITHCATS',
          'ANIMALNEUTERED',
          'ANIMALMICROCHIP',
          'ANIMALLOCATION',
          'ANIMALUNIT',
          'ANIMALENTRYDATE',
          'ANIMALWEIGHT',
          'ANIMALNOTFORADOPTION',
        ].map(name => asm3[name]),
        [
          'A-117 ',
          'Dog',
          'Y',
          'N',
          'U',
          '',
          '276098102345678',
          'Dog runs, Building 2',
          '7',
          '2026-10-01',
          '60.08',
          '1',
        ],
      );
      const [header] = (await (await get('pets.csv?preset=asm3')).text()).split('\r\n');
      assert.equal(header, Object.keys(asm3).join(','));
    });

    it('write the columns of Adopt-a-Pet and RescueGroups, with three states', async () => {
      const lines = async (preset: string) => (await (await get(`pets.csv?preset=${preset}`)).text()).split('\r\n');
      const text = '" First line.<br />\tSecond ""line"". <br />"';
      const adoptapet = await lines('adoptapet');
      assert.deepEqual(adoptapet.slice(0, 2), [
        'Id,Animal,Breed,Breed2,Purebred,Age,Name,Size,Sex,Color,Description,Status,GoodWKids,GoodWCats,GoodWDogs,' +
          'SpayedNeutered,ShotsCurrent,Housetrained,Declawed,SpecialNeeds,HairLength,YouTubeVideoURL,Birthdate,' +
          'Sizecurrent,SizeUOM,AdoptionFee,Cratetrained,HeartwormNegative,HeartwormPositive,Leashtrained,IndoorOnly,' +
          'FIVPositive,SpecialDietaryNeeds',
        `"A-117 ",Dog,Labrador Retriever,,0,," Rex, ""the dog"" ",,,,${text},Available,1,,0,,,,,,,,,27.25,kg,125.00,,,,,,,`,
      ]);
      const rescuegroups = await lines('rescuegroups');
      assert.deepEqual(rescuegroups.slice(0, 2), [
        'animalID,status,rescueID,name,species,primaryBreed,secondaryBreed,sex,mixed,dogs,cats,kids,declawed,' +
          'housetrained,age,specialNeeds,altered,size,uptodate,color,description,pic1,pic2,pic3,pic4',
        `"A-117 ",Available,"A-117 "," Rex, ""the dog"" ",Dog,Labrador Retriever,,,Yes,No,,Yes,,,,,,,,,${text},,,,`,
      ]);
    });

    it('write the columns of Petfinder in the order that it mandates', async () => {
      const { token: shelter } = await serving.newKey();
      const add = (body: object) =>
        send(`${serving.urls.production}/pets`, {
          ...{ method: 'POST', key: shelter, body: { name: 'Pip', categoryId: 1, ...body } },
        });
      const fee = (amount: number) => ({ price: { amount, currency: 'USD' } });
      await add({ externalId: 'P1', ...fee(7500), goodWith: { farmAnimals: 'no' } });
      await add({ status: 'pending', statusReason: 'Stray hold until Friday', ...fee(0) });
      await add({ status: 'pending', statusReason: 'in foster', goodWith: { farmAnimals: 'yes' } });
      await add({ status: 'sold' });
      const [head, ...rows] = (await (await get('pets.csv?preset=petfinder', shelter)).text()).trim().split('\r\n');
      assert.equal(
        head,
        'ID,Internal,AnimalName,PrimaryBreed,SecondaryBreed,Sex,Size,Age,Desc,Type,Status,Shots,Altered,NoDogs,NoCats,' +
          'NoKids,Housetrained,Declawed,specialNeeds,Mix,photo1,photo2,photo3,photo4,photo5,photo6,arrival_date,birth_date,' +
          'primaryColor,secondaryColor,tertiaryColor,coat_length,adoption_fee,display_adoption_fee,adoption_fee_waived,' +
          'special_needs_notes,no_other,no_other_note,tags',
      );
      const columns = [
        'Status',
        'adoption_fee',
        'display_adoption_fee',
        'adoption_fee_waived',
        'no_other',
        'no_other_note',
      ];
      const places = columns.map(name => head!.split(',').indexOf(name));
      const cells = rows.map(row => row.split(','));
      assert.deepEqual(
        cells.map(row => places.map(place => row[place])),
        [
          ['A', '75.00', '1', '', '1', 'Farm animals'],
          ['F', '0.00', '', '1', '', ''],
          ['H', '', '', '', '', ''],
          ['X', '', '', '', '', ''],
        ],
      );
      assert.deepEqual(cells[0]!.slice(0, 3), ['P1', 'P1', 'Pip']);
    });

    it('write the columns that RescueGroups documents', async () => {
      const { token: shelter } = await serving.newKey();
      const body = {
        ...{
          name: 'Pip',
          categoryId: 2,
          externalId: 'R1',
          status: 'pending',
          sex: 'male',
          size: 'xlarge',
          coat: 'curly',
        },
        ...{ intake: { date: '2026-10-01', kind: 'stray' }, traits: { specialNeeds: 'no', houseTrained: 'unknown' } },
        videos: [
          'https://example.org/a.mp4',
          'https://youtu.be/dQw4w9WgXcQ?t=1',
          'https://www.youtube.com/watch?v=other-one',
        ],
      };
      await send(`${serving.urls.production}/pets`, { method: 'POST', key: shelter, body });
      const text = await (await get('pets.csv?preset=rescuegroups-import', shelter)).text();
      assert.deepEqual(text.split('\r\n').slice(0, 2), [
        'externalID,internalID,rescueID,name,status,type,priBreed,secBreed,mix,sex,age,okwithdogs,okwithcats,okwithkids,' +
          'declawed,housebroken,specialNeeds,altered,size,uptodate,color,pattern,coatLength,courtesy,dsc,found,foundDate,' +
          'foundZipcode,photo1,photo2,photo3,photo4,videoUrl',
        'R1,R1,R1,Pip,Hold,Cat,,,,Male,,,,,,,No,,X-Large,,,,,,,Yes,2026-10-01,,,,,,https://www.youtube.com/watch?v=dQw4w9WgXcQ',
      ]);
    });

    it('write size and coat for Adopt-a-Pet only where it takes them', async () => {
      const { token: shelter } = await serving.newKey();
      for (const [categoryId, coat] of Object.entries({ 1: 'short', 2: 'medium', 4: 'hairless', 6: 'long' })) {
        const body = { name: 'Pip', categoryId: Number(categoryId), size: 'large', coat };
        await send(`${serving.urls.production}/pets`, { method: 'POST', key: shelter, body });
      }
      const [head, ...rows] = (await (await get('pets.csv?preset=adoptapet', shelter)).text()).trim().split('\r\n');
      const cells = rows.map(row => row.split(','));
      const [size, hair] = ['Size', 'HairLength'].map(name => head!.split(',').indexOf(name)) as [number, number];
      assert.deepEqual(
        cells.map(row => [row[1], row[size], row[hair]]),
        [
          ['Dog', 'L', ''],
          ['Cat', 'L', 'Medium'],
          ['Small & Furry', '', 'Hairless'],
          ['Bird', '', ''],
        ],
      );
    });

    it('write animals of a category that has the name of a property of objects', async () => {
      const { token: shelter } = await serving.newKey();
      const add = async (path: string, body: object) =>
        (await send(`${serving.urls.production}/${path}`, { method: 'POST', key: shelter, body })).body;
      const { id: categoryId } = await add('categories', { name: 'Constructor' });
      await add('pets', { name: 'Pip', categoryId, coat: 'short' });
      const [, row] = (await (await get('pets.csv?preset=adoptapet', shelter)).text()).split('\r\n');
      assert.match(row!, /^\d+,Constructor,/);
    });

    it('send no body for HEAD', async () => {
      const response = await get('pets.csv', owner, 'HEAD');
      assert.deepEqual([response.status, await response.text()], [200, '']);
    });
  });
});
