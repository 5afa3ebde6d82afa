// Takes a screenshot of every page, at the width of a phone and of a desk, in light and dark, for `docs/images/`. Run it
// with `npm run screenshots` after a change of the pages: the README and the documentation show the images. Names after it,
// such as `npm run screenshots animals keys-new`, take those only; `first-day` stands for the images of that guide.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { createLink } from '../../src/access/sessions/links.ts';
import { pages } from '../../src/main/pages.ts';
import { DiskStore } from '../../src/model/photo-files/disk-store.ts';
import { shelters } from '../../src/operate/seeds/accounts.ts';
import { samplePets } from '../../src/operate/seeds/pets.ts';
import { photoOf, samplePhotos, storeSamplePhotos } from '../../src/operate/seeds/photos.ts';
import { profileOf } from '../../src/operate/seeds/profiles.ts';
import { replaceOrganization } from '../../src/store/organizations/organizations.ts';
import { createPet } from '../../src/store/pets/pets.ts';
import type { WebPage } from '../../src/web/page.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { launchBrowser, screenshotOf } from './browser.ts';
import { anonymous, signedIn, type Visitor } from './session.ts';

const directory = new URL('../../docs/images/', import.meta.url);
/** The tallest part of a page that is shown. */
const HEIGHT_MAX = 1600;
/** How many of the sample animals there are. */
const ANIMALS = 60;

const only = new Set(process.argv.slice(2));

const photosDirectory = temporaryDirectory();
const service = await serve({
  environment: {
    PETSTORE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    PETSTORE_PHOTOS_DIRECTORY: photosDirectory,
  },
});
const browser = await launchBrowser();
try {
  await takeAll(service, browser);
} finally {
  await browser.close();
  await service.stop();
}
if (only.size === 0 || only.has('first-day')) takeGuide();

/** Takes the images of the guide “A volunteer’s first day”, with the test that follows it. */
function takeGuide(): void {
  const test = fileURLToPath(new URL('first-day.test.ts', import.meta.url));
  const env = { ...process.env, PETSTORE_TEST_SCREENSHOTS: '1' };
  execFileSync(process.execPath, ['--test', test], { env, stdio: 'inherit' });
}

async function takeAll(service: TestService, browser: Browser): Promise<void> {
  const person = await signedIn(service, { name: 'Riverside Shelter', email: 'riverside@example.org', admin: true });
  const parameters = await prepare(service, person);
  mkdirSync(directory, { recursive: true });
  if (only.size === 0) {
    for (const file of readdirSync(directory).filter(name => name.endsWith('.webp'))) rmSync(new URL(file, directory));
  }
  const origin = new URL(service.urls.production).origin;
  for (const page of pages.filter(page => page.show && (only.size === 0 || only.has(nameOf(page))))) {
    const path = pathOf(page, parameters);
    const visitor = page.access === 'everyone' ? anonymous(service) : person;
    const reply = await visitor.open(path);
    if (reply.status !== 200 || !String(reply.headers['content-type']).startsWith('text/html')) {
      console.log(`no image of ${path}: ${reply.status} ${reply.headers['content-type']}`);
      continue;
    }
    for (const width of [390, 1280]) {
      for (const colorScheme of ['light', 'dark'] as const) {
        const tab = await visitor.newPage(browser, { viewport: { width, height: 800 }, colorScheme });
        await tab.goto(origin + path);
        writeFileSync(new URL(`${nameOf(page)}-${width}-${colorScheme}.webp`, directory), await imageOf(tab, width));
        await tab.context().close();
      }
    }
  }
}

/** Fills the service with what the pages show. Returns the values of the path parameters, by page and name. */
async function prepare(service: TestService, person: Visitor): Promise<Record<string, string>> {
  const { accountId } = person;
  const key = await service.newKey({ accountId, deployment: 'production', name: 'Adoption site' });
  await service.newKey({ accountId, deployment: 'staging', name: 'Laptop', scopes: ['pets:read'] });
  const pets = `${service.urls.production}/pets`;
  await addAnimals(service, accountId);
  for (const query of ['', '?limit=5', '?limit=0', '/99', '?status=available', '?categoryId=2']) {
    await send(pets + query, { key });
  }
  await fetch(`${service.urls.production}/imports`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.token}`, 'content-type': 'text/csv' },
    body: 'externalId,name,categoryId,sex,size\nA-117,Bella,1,female,large\nA-118,Milo,2,male,huge\n',
  });
  // The usage and the requests are written once a second.
  await sleep(2000);
  const message = { message: 'Is Bella good with children?', petId: 1, replyTo: 'ann@example.org' };
  await send(`${service.urls.production}/messages`, { method: 'POST', key, body: message });
  const webhook = { url: 'https://example.org/petstore', types: ['pet.*', 'order.*'], description: 'Adoption site' };
  await send(`${service.urls.production}/webhooks`, { method: 'POST', key, body: webhook });
  const link = { personId: accountId, purpose: 'reset' as const, email: 'riverside@example.org' };
  const { secret } = await service.app.databases.production.write(tx => createLink(tx, link));
  return {
    secret,
    entryId: '1',
    orderId: '1',
    messageId: 'msg_1',
    sessionId: '1',
    webhookId: '1',
    deliveryId: '1',
    importId: '1',
    categoryId: '1',
    '/search': '/search?q=rate+limit',
    '/shelter/animals/{petId}': '/shelter/animals/1#photos',
    code: 'rate_limit_exceeded',
    operationId: 'createPet',
    '/deprecations/{operationId}': 'getPet',
    petId: '1',
    organizationId: String(accountId),
    '/sitemaps/{list}/{file}': '/sitemaps/animals/1.xml',
    id: '1',
    accountId: String(accountId),
    keyId: key.id,
    name: 'quickstart',
    '/guides/operating/{name}': 'install',
  };
}

/** Adds some of the sample animals to production, with the organization of their shelter. */
async function addAnimals({ app }: TestService, accountId: number): Promise<void> {
  const { production } = app.databases;
  const photos = samplePhotos();
  await storeSamplePhotos(new DiskStore(join(photosDirectory, 'production')), photos);
  await production.write(async tx => {
    for (const sample of samplePets().slice(0, ANIMALS)) {
      const { pet, kind } = profileOf(sample, tx.now);
      await createPet(tx, accountId, pet, 'open', { photos: [photoOf(kind, photos)] });
    }
    const { takes: _, ...organization } = shelters.find(({ email }) => email === 'adopt@riverside.example')!;
    await replaceOrganization(tx, { accountId, admin: false }, accountId, organization);
  });
}

/** @throws {Error} when a page has a parameter without a value in `prepare` */
function pathOf({ path }: WebPage, parameters: Readonly<Record<string, string>>): string {
  const whole = parameters[path];
  if (whole?.startsWith('/')) return whole;
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = parameters[path] ?? parameters[name];
    if (value === undefined) throw new Error(`${path}: prepare() has no value of ${name}`);
    return value;
  });
}

/** Returns the name of a page's images: `keys-new` for `/keys/new`, `front` for `/`. */
function nameOf({ path }: WebPage): string {
  return path.replaceAll(/[{}]/g, '').split('/').filter(Boolean).join('-') || 'front';
}

async function imageOf(tab: Page, width: number): Promise<Buffer> {
  const height = Math.min(HEIGHT_MAX, await tab.evaluate(() => document.documentElement.scrollHeight));
  await tab.setViewportSize({ width, height });
  return screenshotOf(tab);
}
