import { invalidParameter } from '../../lib/http/problem.ts';
import type { AdmittedViewRequest } from '../../lib/http/server/view.ts';
import { foldedText, wordsIn } from '../../lib/text.ts';
import { DAY_MS } from '../../lib/time.ts';
import { Age } from '../../model/age.ts';
import { problem } from '../../model/errors.ts';
import type { FullPet } from '../../model/pet.ts';
import { Coat, Sex, Size } from '../../model/profile.ts';
import type { Database } from '../../model/schema.ts';
import { categoryPaths } from '../../store/categories/paths.ts';
import { linkBaseOf, organizationsOf, pageOf } from './calls.ts';
import type { NumberedList, PageNumbers } from './pages.ts';
import { Parameters, placeOf } from './parameters.ts';
import { animalOf, organizationIdOf, petIdOf, statuses } from './shapes.ts';
import { typeOf, typesByName } from './types.ts';

const animalParameters = [
  ...['type', 'breed', 'size', 'gender', 'age', 'color', 'coat', 'status', 'name', 'organization'],
  ...['good_with_children', 'good_with_dogs', 'good_with_cats', 'house_trained', 'declawed', 'special_needs'],
  ...['location', 'distance', 'before', 'after', 'sort', 'page', 'limit', 'cursor'],
];

/** The parts of a process that animals use. */
interface AnimalDeps {
  readonly database: Database;
  readonly pages: PageNumbers;
}

export async function listAnimals(request: AdmittedViewRequest, { database, pages }: AnimalDeps) {
  const parameters = new Parameters(request.search, animalParameters);
  const list = searchOf(request, parameters);
  const found = await pages.page(list, parameters, `${linkBaseOf(request)}/animals`, request);
  return { animals: await shown(request, database, found.rows), pagination: found.pagination };
}

export async function getAnimal(request: AdmittedViewRequest, { database }: AnimalDeps) {
  const id = petIdOf(request.parameters['id']!);
  if (id === undefined) throw problem('pet_not_found');
  const { rows } = await pageOf<FullPet>(request, 'listPets', { id: String(id), view: 'full' });
  const [animal] = await shown(
    request,
    database,
    rows.filter(({ status }) => status !== 'pending'),
  );
  if (animal === undefined) throw problem('pet_not_found');
  return { animal };
}

/** Returns the list of the animals that match the parameters. @throws {Problem} for an invalid parameter */
function searchOf(request: AdmittedViewRequest, parameters: Parameters): NumberedList<FullPet> {
  const wanted = parameters.choices('status', { ...statuses, found: undefined }) ?? ['available'];
  const query = { status: wanted.filter(status => status !== undefined).join(), ...queryOf(parameters) };
  const tests = [testOfBreed(parameters), testOfColor(parameters), testOfName(parameters), ...testsOfTimes(parameters)];
  const given = tests.filter(test => test !== undefined);
  const after = parameters.time('after');
  return {
    isRandom: query.sort === 'random',
    matches: given.length === 0 ? undefined : pet => given.every(test => test(pet)),
    // Ids follow the times of publication, but not exactly while several nodes add animals.
    isPast:
      after === undefined || query.sort !== 'recent' ? undefined : pet => Date.parse(pet.createdAt!) < after - DAY_MS,
    async read(limit, cursor, isShown) {
      // The store has no notices of found animals.
      if (query.status === '') return { rows: [], next: undefined, total: 0 };
      const page = { limit: String(limit), ...(cursor !== undefined && { cursor }), ...(isShown && { view: 'full' }) };
      return pageOf<FullPet>(request, 'listPets', { ...query, ...page });
    },
  };
}

const sizes = { ...choicesOf(Size.enum), 'extra large': 'xlarge' };
const yes = { true: 'yes', 1: 'yes' };
const yesOrNo = { ...yes, false: 'no', 0: 'no' };
const sorts = { recent: 'recent', '-recent': 'id', distance: 'distance', random: 'random' };

function queryOf(parameters: Parameters) {
  const type = parameters.choice('type', typesByName);
  const words = [...(parameters.list('breed') ?? []), ...(parameters.list('color') ?? [])];
  // With several breeds or colors, an animal need not have the words of each.
  const isOne = [parameters.list('breed'), parameters.list('color')].every(values => (values?.length ?? 0) < 2);
  const sort = parameters.choice('sort', sorts) ?? 'recent';
  const query = {
    categoryId: type && String(type.id),
    includeDescendants: type && 'true',
    q: (isOne && wordsIn(words.join(' ')).join(' ')) || undefined,
    size: parameters.choices('size', sizes)?.join(),
    sex: parameters.choices('gender', choicesOf(Sex.enum))?.join(),
    age: parameters.choices('age', choicesOf(Age.enum))?.join(),
    coat: parameters.choices('coat', choicesOf(Coat.enum))?.join(),
    organizationId: parameters.list('organization')?.map(organizationIn).join(),
    goodWithChildren: parameters.choice('good_with_children', yesOrNo),
    goodWithDogs: parameters.choice('good_with_dogs', yesOrNo),
    goodWithCats: parameters.choice('good_with_cats', yesOrNo),
    houseTrained: parameters.choice('house_trained', yes),
    declawed: parameters.choice('declawed', yes),
    specialNeeds: parameters.choice('special_needs', yes),
    ...placeOf(parameters, sort === 'distance'),
    sort,
  };
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { sort, ...Object.fromEntries(given) } as { readonly sort: string } & Readonly<Record<string, string>>;
}

function choicesOf(values: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(values.map(value => [value, value]));
}

function organizationIn(text: string): number {
  const id = organizationIdOf(text);
  if (id === undefined) throw invalidParameter('organization', `${text} is not a valid organization id.`);
  return id;
}

type Test = (pet: FullPet) => boolean;

function testOfBreed(parameters: Parameters): Test | undefined {
  return testOf(parameters.list('breed'), ({ breeds }) => [breeds?.primary, breeds?.secondary]);
}

function testOfColor(parameters: Parameters): Test | undefined {
  return testOf(parameters.list('color'), ({ colors }) => [colors?.primary, colors?.secondary, colors?.tertiary]);
}

/** Returns the test that an animal has one of the values. */
function testOf(
  values: readonly string[] | undefined,
  valuesIn: (pet: FullPet) => readonly (string | undefined)[],
): Test | undefined {
  const wanted = values && new Set(values.map(foldedText));
  return wanted && (pet => valuesIn(pet).some(value => value !== undefined && wanted.has(foldedText(value))));
}

function testOfName(parameters: Parameters): Test | undefined {
  const name = parameters.text('name');
  const part = name && foldedText(name);
  return part === undefined ? undefined : pet => foldedText(pet.name).includes(part);
}

function testsOfTimes(parameters: Parameters): (Test | undefined)[] {
  const [before, after] = [parameters.time('before'), parameters.time('after')];
  return [
    before === undefined ? undefined : pet => Date.parse(pet.createdAt!) < before,
    after === undefined ? undefined : pet => Date.parse(pet.createdAt!) > after,
  ];
}

/** Returns animals with their types and the contacts of their organizations. */
async function shown(request: AdmittedViewRequest, database: Database, pets: readonly FullPet[]) {
  const { publicUrl } = request;
  const paths = await categoryPaths(
    database,
    pets.map(({ categoryId }) => categoryId),
  );
  const organizations = await organizationsOf(
    request,
    database,
    pets.map(({ accountId }) => accountId!),
  );
  return pets.flatMap(pet => {
    const path = paths.get(pet.categoryId);
    // The category was merged into another since the animals were read.
    if (path === undefined) return [];
    const type = typeOf(path[0]!);
    const species = path.length === 1 ? type.name : path.at(-1)!.name;
    const organization = organizations.get(pet.accountId!);
    return [animalOf(pet, { type, species, organization, publicUrl, base: linkBaseOf(request) })];
  });
}
