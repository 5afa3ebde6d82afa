import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { pages } from '../../src/main/pages.ts';
import { replaceOrganization } from '../../src/store/organizations/organizations.ts';
import { createPet } from '../../src/store/pets/pets.ts';
import { serve, type TestService } from '../support/serving.ts';
import { signedIn, type Visitor } from './session.ts';

/** The words of schemas, which mean nothing to the people who fill in a form. */
const schemaWords =
  /control character|white ?space|at least one of them|pattern|code points?|UTF-?8|unicode|surrogate|integer|\bnull\b|\barray\b|boolean|regular expression|must match|merge patch|RFC \d|ISO \d/i;

/** The words of schemas that animals have too. */
const animalWords = ['Such as brindle or tabby.', 'Pattern'];

describe('the texts of forms', () => {
  let service: TestService;
  let admin: Visitor;
  let petId: number;
  before(async () => {
    service = await serve();
    admin = await signedIn(service, { admin: true });
    const { accountId } = admin;
    const pet = { name: 'Rex', categoryId: 1 };
    petId = await service.app.databases.production.write(async tx => {
      await replaceOrganization(tx, { accountId, admin: false }, accountId, { name: 'Maple Lane' });
      return (await createPet(tx, accountId, pet, 'open')).id;
    });
  });
  after(() => service.stop());

  const pathOf = (path: string) => path.replaceAll(/\{petId\}/g, String(petId)).replaceAll(/\{\w+\}/g, '1');
  const shelterPages = pages.filter(({ show, path }) => show && path.startsWith('/shelter/'));
  const formPages = pages.filter(({ show, submit, access }) => show && submit && access !== 'everyone');

  it('say what to enter without the words of a schema', async () => {
    const checked: string[] = [];
    for (const { path } of new Set([...shelterPages, ...formPages])) {
      const { status, text } = await admin.open(pathOf(path));
      if (status !== 200) continue;
      checked.push(path);
      for (const shown of textsIn(text)) assert.doesNotMatch(shown, schemaWords, path);
    }
    for (const path of [
      '/shelter/animals/{petId}',
      '/shelter/organization',
      '/keys/new',
      '/operator/categories/{categoryId}',
    ]) {
      assert.ok(checked.includes(path), path);
    }
  });

  it('explain errors without them too', async () => {
    const wrong = {
      name: '\t',
      categoryId: '1',
      status: 'available',
      'breeds/primary': 'a\tb',
      description: 'a\0b',
      specialNeedsNotes: 'x'.repeat(1001),
      weight: 'heavy',
      typedAge: 'old',
      energy: 'much',
      tags: 'a\na',
      videos: 'x\n'.repeat(11),
      microchips: 'x',
      'group/id': 'Pair',
      'price/amount': '1',
      'price/currency': 'x',
      'intake/date': 'x',
      'intake/kind': 'x',
      socialMedia: 'x\nx',
      'location/latitude': 'north',
      website: 'nowhere',
    };
    for (const path of ['/shelter/animals/new', `/shelter/animals/${petId}`, '/shelter/organization']) {
      const { status, text } = await admin.submit(path, wrong);
      assert.equal(status, 422);
      const errors = Array.from(text.matchAll(/<p class="error"[^>]*>(.*?)<\/p>/g), ([, error]) => error!);
      assert.ok(errors.length >= 3, path);
      for (const error of errors) assert.doesNotMatch(error, schemaWords);
      for (const error of errors) assert.doesNotMatch(error, /Must be an? (object|string)/);
    }
  });
});

/** Returns the labels and the hints of a page. */
function textsIn(page: string): string[] {
  const elements = page.matchAll(
    /<(label|legend|p class="hint"|span class="(?:hint|label)")[^>]*>(.*?)<\/(?:label|legend|p|span)>/gs,
  );
  const texts = Array.from(elements, ([, , content = '']) => content.replaceAll(/<[^>]*>/g, ' ').trim());
  return texts.filter(text => !animalWords.includes(text));
}
