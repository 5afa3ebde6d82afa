import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  blocksOf,
  commandsOf,
  type FirstServer,
  readPage,
  skip,
  startFirstServer,
} from '../support/pages-as-scripts.ts';
import { image } from '../support/photos.ts';
import { waitUntil } from '../support/wait-until.ts';

const page = await readPage('docs/shelter.md');
const blockIn = (language: string) => blocksOf(page).find(block => block.language === language)!.text;

describe('docs/shelter.md, executed', { skip }, () => {
  const [first, ...commands] = commandsOf(page);
  let server: FirstServer;
  before(async () => {
    server = await startFirstServer();
    await writeFile(join(server.directory, 'animals.csv'), `${blockIn('csv')}\n`);
    await writeFile(join(server.directory, 'biscuit.jpg'), await image('jpeg', { width: 800, height: 600 }));
  });
  after(async () => {
    assert.deepEqual(await server.stop(), [0, null]);
  });

  /** Returns the next command of the page, which has to have this text. */
  function next(part: string): string {
    const command = commands.shift()!;
    assert.ok(command.includes(part), command);
    return command.replace('curl', 'curl -s');
  }
  const run = (part: string) => server.run(next(part));
  // biome-ignore lint/suspicious/noExplicitAny: the assertions read any member
  const send = async (part: string): Promise<any> => JSON.parse(await run(part));

  /** Reads an import until it has ended, as the page says. */
  // biome-ignore lint/suspicious/noExplicitAny: the assertions read any member
  async function untilEnded(command: string): Promise<any> {
    let read: { endedAt?: string } = {};
    await waitUntil(async () => {
      read = JSON.parse(await server.run(command));
      return read.endedAt;
    }, EVERY_MS);
    return read;
  }

  test('publishes the shelter', async () => {
    assert.equal(first, 'KEY=petstore_test_…');
    assert.equal((await send('/organizations/1')).name, 'Riverside Animal Shelter');
    assert.match(await server.run('curl -s http://localhost:8081/organizations/1'), /Riverside Animal Shelter/);
  });

  test('shows the errors of a file without importing it', async () => {
    assert.equal((await send('dryRun=true')).id, 1);
    const { state, dryRun, created, failed, dates } = await untilEnded(next('/imports/1'));
    assert.deepEqual([state, dryRun, created, failed, dates], ['completed', true, 2, 2, 'mdy']);
    assert.equal((await run('/imports/1/errors')).trimEnd(), blockIn('json'));
    assert.deepEqual(JSON.parse(await server.run(`curl -s ${auth} "${found}"`)), []);
  });

  test('imports the corrected file', async () => {
    assert.equal(await run('sed '), '');
    assert.equal((await send('@corrected.csv')).id, 2);
    const { state, created, failed, warnings } = await untilEnded(next('/imports/2'));
    assert.deepEqual([state, created, failed, warnings], ['completed', 4, 0, 0]);
    const [scout] = JSON.parse(await server.run(`curl -s ${auth} "${found.replace('D2026041', 'D2026038')}"`));
    assert.deepEqual([scout.name, scout.status], ['Scout', 'sold']);
  });

  test('adds a photo to the animal of a code', async () => {
    const [{ id, name }] = await send('externalId=D2026041');
    assert.deepEqual([id, name], [402, 'Biscuit']);
    const { alt, urls } = await send('@biscuit.jpg');
    assert.equal(alt, 'Biscuit on the meadow');
    assert.match(await server.run(`curl -sI ${urls['300']}`), /^HTTP\/1\.1 200 .*content-type: image\/jpeg/is);
  });

  test('finds the animal near a postal code, in the API and on the pages', async () => {
    const near: { name: string; distance: { value: number; unit: string } }[] = await send('near=US-62704');
    const biscuit = near.find(({ name }) => name === 'Biscuit')!;
    assert.ok(biscuit.distance.value > 0 && biscuit.distance.value < 10, String(biscuit.distance.value));
    const links = page.match(/http:\/\/localhost:8081\/animals[^\s,.]*/g)!;
    assert.equal(links.length, 2);
    for (const link of links) assert.match(await server.run(`curl -s "${link}"`), /Biscuit/, link);
  });

  test('holds the animal, orders it and records the adoption', async () => {
    assert.deepEqual((await send('/holds')).petIds, [402]);
    const statuses = [];
    for (const part of ['/orders', '/approval', '/delivery']) statuses.push((await send(part)).status);
    assert.deepEqual(statuses, ['placed', 'approved', 'delivered']);
    assert.equal((await send('"outcome"')).status, 'sold');
    const [{ outcome, goodWith }] = JSON.parse(await server.run(`curl -s ${auth} "${found}&view=full"`));
    assert.equal(outcome.kind, 'adoption');
    assert.equal(goodWith.cats, 'unknown');
  });

  test('exports the animals for other sites, and back', async () => {
    const [header, ...rows] = (await run('preset=petfinder')).split('\n').map(row => row.split(','));
    const row = rows.find(([id]) => id === 'D2026041')!;
    assert.equal(row[header!.indexOf('Status') + 1], 'X');
    assert.ok(
      row.some(cell => /^http:\/\/localhost:8081\/photos\/\w+\/1280\.jpg$/.test(cell)),
      row.join(),
    );
    assert.deepEqual(commands, []);

    await server.run(`curl -s ${auth} "http://localhost:8081/v1/exports/pets.csv?preset=asm3" -o again.csv`);
    assert.match(await readFile(join(server.directory, 'again.csv'), 'utf8'), /D2026041,,Biscuit/);
    const sent = `curl -s ${auth} -H 'Content-Type: text/csv' --data-binary @again.csv`;
    await server.run(`${sent} "http://localhost:8081/v1/imports?preset=asm3"`);
    const ended = await untilEnded(`curl -s ${auth} http://localhost:8081/v1/imports/3`);
    const { updated, created, failed, unchanged } = ended;
    assert.deepEqual([updated, created, failed], [0, 0, 0]);
    assert.ok(unchanged > 3);
  });
});

/** Few enough requests for the plan Free. */
const EVERY_MS = 300;
const auth = '-H "Authorization: Bearer $KEY"';
const found = 'http://localhost:8081/v1/pets?owner=me&externalId=D2026041';
