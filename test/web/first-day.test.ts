import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { createAccount } from '../../src/access/accounts/accounts.ts';
import { serve, type TestService } from '../support/serving.ts';
import { type SmtpServer, startSmtpServer } from '../support/smtp-server.ts';
import { waitUntil } from '../support/wait-until.ts';
import { follow, launchBrowser, screenshotOf, skipBrowser } from './browser.ts';
import { anonymous, signedInTo, type Visitor } from './session.ts';

const PHONE = {
  viewport: { width: 390, height: 800 },
  deviceScaleFactor: 1.5,
  hasTouch: true,
  isMobile: true,
} as const;
const LITTER = ['Juno', 'Kiwi', 'Luna', 'Mango'];
const PHOTOS = ['gray', 'orange', 'calico', 'tuxedo'].map(
  coat => new URL(`../../src/operate/seeds/photos/cat-${coat}-512.jpg`, import.meta.url),
);
/** The tallest part of a page in an image of the guide. */
const PICTURE_HEIGHT = 480;
const VOLUNTEER = 'volunteer@example.org';
/** Whether `npm run screenshots` runs this file, to take the images of the guide. */
const takesPictures = process.env['PETSTORE_TEST_SCREENSHOTS'] === '1';

/** The day that the guide "A volunteer’s first day" describes, step by step on a phone. */
describe('the first day of a volunteer', { skip: skipBrowser }, () => {
  let mail: SmtpServer;
  let service: TestService;
  let browser: Browser;
  let origin: string;
  let owner: Visitor;
  let page: Page;
  before(async () => {
    mail = await startSmtpServer();
    service = await serve({ environment: { PETSTORE_SMTP_URL: mail.url, PETSTORE_MAIL_FROM: 'store@example.org' } });
    origin = new URL(service.urls.production).origin;
    browser = await launchBrowser();
    const { id } = await service.app.databases.production.write(tx =>
      createAccount(tx, { email: 'owner@example.org', name: 'Riverside Shelter' }),
    );
    owner = await signedInTo(service, id);
    page = await (await browser.newContext(PHONE)).newPage();
    page.setDefaultTimeout(30_000);
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('WebAuthn.enable');
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true },
        ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
      },
    });
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
    await mail?.close();
  });

  const press = (name: string) => page.getByRole('main').getByRole('button', { name, exact: true });
  const open = (path: string) => page.goto(origin + path);
  const openMenu = () => page.getByRole('button', { name: 'Menu', exact: true }).click();

  /** Takes an image of the page for the guide, from an element on to the end of the content. */
  async function picture(name: string, from: Locator = page.getByRole('main')): Promise<void> {
    if (!takesPictures) return;
    const [start, content] = [(await from.boundingBox())!, (await page.getByRole('main').boundingBox())!];
    const top = Math.max(content.y, start.y - 12);
    const y = Math.round(top + (await page.evaluate(() => scrollY)));
    const height = Math.min(PICTURE_HEIGHT, Math.round(content.y + content.height - top));
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.evaluate(() => Promise.all(document.getAnimations().map(({ finished }) => finished)));
      const file = new URL(`../../docs/images/guides/first-day-${name}-${colorScheme}.webp`, import.meta.url);
      writeFileSync(file, await screenshotOf(page, { y, width: PHONE.viewport.width, height }));
    }
    await page.emulateMedia({ colorScheme: 'light' });
  }

  /** Waits for the newest mail to an address about something. */
  async function mailTo(to: string, subject: RegExp): Promise<string> {
    const find = () => mail.mails.findLast(one => one.to.includes(to) && subject.test(one.headers.get('subject')!));
    await waitUntil(() => find() !== undefined);
    return find()!.text.replaceAll('\r', '');
  }

  /** Asks about an animal as a visitor who confirms the address. */
  async function ask(petId: number, email: string, message: string): Promise<void> {
    const visitor = anonymous(service);
    await visitor.submit(`/animals/${petId}`, { name: 'Jo', email, message });
    const text = await mailTo(email, /Confirm/);
    await visitor.submit(/\/confirm-message\/\S+/.exec(text)![0]);
  }

  it('begins with an invitation, and a passkey to sign in', async () => {
    assert.equal((await owner.submit('/account/people', { email: VOLUNTEER, role: 'staff' })).status, 303);
    await page.goto(/^http\S+\/invitations\/\S+$/m.exec(await mailTo(VOLUNTEER, /^Join/))![0]);
    await page.getByLabel('Your name').fill('Dana');
    await page.getByLabel('Choose a password').fill('correct horse battery');
    await picture('invitation');
    await follow(press('Join'));
    assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'Home');
    await open('/security');
    await follow(press('Add a passkey'));
    await page.getByLabel('Name').fill('My phone');
    await follow(press('Add a passkey'));
    await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor();
    await openMenu();
    await follow(page.getByRole('button', { name: 'Sign out' }));
    await open('/sign-in');
    await follow(press('Sign in with a passkey'));
    assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'Home');
  });

  it('adds a litter of four with photos', async () => {
    await open('/shelter/animals/new');
    for (const [index, name] of LITTER.entries()) {
      if (index === 0) {
        await page.getByLabel('Kind').selectOption('Cat');
        await page.getByLabel('Breed', { exact: true }).fill('Domestic Short Hair');
      }
      await page.getByLabel('Name', { exact: true }).fill(name);
      await page.getByLabel('Age', { exact: true }).fill('8 weeks');
      const buffer = readFileSync(PHOTOS[index]!);
      await page.getByLabel('Choose photos').setInputFiles({ name: `${name}.jpg`, mimeType: 'image/jpeg', buffer });
      await page.locator('.chosen-photos li').first().waitFor();
      if (index === 0) await picture('new-animal', page.getByRole('heading', { name: 'Photos', exact: true }));
      await follow(press(index < LITTER.length - 1 ? 'Save and add another' : 'Save'));
      await page.getByText('is saved.').first().waitFor();
    }
    await waitUntil(async () => {
      await open('/shelter/animals');
      return (await page.locator('img.thumb').count()) === LITTER.length;
    });
    await picture('animals', page.locator('main table'));
  });

  it('answers two questions', async () => {
    await ask(1, 'jo@example.org', 'Does she like children?');
    await ask(2, 'al@example.org', 'When can I visit?');
    await waitUntil(async () => {
      await open('/shelter');
      return /2\s+messages to read/.test(await page.getByRole('main').innerText());
    });
    await picture('home');
    for (const left of [1, 0]) {
      await open('/shelter/messages?show=unread');
      await follow(page.locator('tbody tr').first().getByRole('link').first());
      await page.getByLabel('Your reply').fill('Yes. Come on Saturday.');
      if (left === 0) await picture('reply', page.locator('.thread'));
      await follow(press('Send'));
      await page.getByText('Your reply is on its way.').waitFor();
      await open('/shelter');
      assert.equal(/to read/.test(await page.getByRole('main').innerText()), left > 0);
    }
    for (const to of ['jo@example.org', 'al@example.org']) {
      assert.match(await mailTo(to, /a reply from Riverside Shelter/), /Come on Saturday/);
    }
  });

  it('puts one on hold, hands one over, and looks up its history', async () => {
    await open('/shelter/animals');
    await follow(page.getByRole('link', { name: 'Juno', exact: true }));
    await follow(page.getByRole('link', { name: 'Hold or hand over' }));
    await page.getByLabel('For whom, and why').fill('Jo, until Saturday');
    await follow(press('Put on hold'));
    await page.getByText('Jo, until Saturday').waitFor();
    await open('/shelter/animals');
    await follow(page.getByRole('link', { name: 'Kiwi', exact: true }));
    await follow(page.getByRole('link', { name: 'Hold or hand over' }));
    await page.getByLabel('They are leaving now').check();
    await page.getByLabel('Who takes them').fill('Al');
    await picture('hand-over', page.getByRole('heading', { name: 'Someone takes Kiwi home' }));
    await follow(press('Save'));
    await open('/shelter/animals/2/history');
    await picture('history');
    const told = await page.locator('.timeline').innerText();
    assert.match(told, /Added by Dana/);
    assert.match(told, /Handed over \(order \d+\) by Dana/);
  });

  it('ends when the owner removes the volunteer', async () => {
    const people = (await owner.open('/account/people')).text;
    const id = /href="\/account\/people\/(\d+)"><bdi>Dana/.exec(people)![1]!;
    assert.equal((await owner.submit(`/account/people/${id}/removal`, {})).status, 303);
    await open('/shelter');
    assert.equal(new URL(page.url()).pathname, '/sign-in');
    await mailTo('owner@example.org', /left your account/);
    assert.match((await owner.open('/shelter/animals/2/history')).text, /by <bdi>Dana/, 'the history keeps the name');
  });
});
