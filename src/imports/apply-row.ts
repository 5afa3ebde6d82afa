import { newCategoriesOf } from '../categories/bound.ts';
import { exportedPet, speciesIn } from '../exports/export-pets.ts';
import type { ExportPreset } from '../exports/presets.ts';
import type { Problem } from '../lib/http/problem.ts';
import { BodyReader } from '../lib/http/server/validation.ts';
import { foldedText } from '../lib/text.ts';
import { NewPet, PetPatch, type PetRow } from '../pets/pet.ts';
import { createPet, getPet, updatePet } from '../pets/pets.ts';
import { petIdsOf } from '../pets/profile-rules.ts';
import { type BoundSettings, boundOf } from '../plans/plan.ts';
import { type Params, query, type Transaction } from '../schema.ts';
import {
  bindColumns,
  type CellRow,
  changeIn,
  changeOf,
  type FileColumns,
  type Identifier,
  identifierIn,
  identifierOf,
  isWhole,
  type RowChange,
  type RowError,
  rowErrors,
  shortened,
  withoutNothing,
} from './convert.ts';
import { isOfOtherRecord } from './further-lines.ts';
import { type ImportError, type ImportRow, petsPlanned } from './import.ts';
import { invalidLine, objectIn } from './json-line.ts';
import { type PhotoCell, PhotoPlanner, type WantedPhotos } from './photos/want.ts';
import { CategoryPlanner } from './planned-categories.ts';
import type { ImportRecord } from './records.ts';
import { ValueWarnings } from './value-warnings.ts';

/** How the deployment treats unknown categories. */
export interface CategoryRules {
  readonly categories: 'open' | 'strict';
  readonly bounds: BoundSettings;
  /** The networks that URLs of photos may be in, besides the public internet. */
  readonly photoNetworks?: readonly string[] | undefined;
}

/** Returns the rules of the settings. */
export function categoryRulesOf({
  categories,
  bounds,
  webhookNetworks,
}: Omit<CategoryRules, 'photoNetworks'> & {
  readonly webhookNetworks?: CategoryRules['photoNetworks'];
}): CategoryRules {
  return { categories, bounds, photoNetworks: webhookNetworks };
}

/** What a row did. */
export type RowOutcome = 'created' | 'updated' | 'unchanged' | readonly RowError[];

const newPets = new BodyReader(NewPet);
const petPatches = new BodyReader(PetPatch);

/** A row whose cells are known, or the errors of one without. */
interface ParsedRow {
  readonly identifier: Identifier | undefined;
  change(pet: PetRow | undefined): Promise<RowChange>;
  /** The cells of the columns with photos. */
  readonly photos: readonly PhotoCell[];
  /** The cells, unless it has the fields of pets. */
  readonly row?: CellRow;
}

/** What a row did to its pet. */
interface AppliedRow {
  readonly outcome: Exclude<RowOutcome, readonly RowError[]>;
  readonly pet: PetRow;
}

/** Applies rows of an import in a transaction. */
export class RowApplier {
  readonly #tx: Transaction;
  readonly #row: ImportRow;
  readonly #rules: CategoryRules;
  readonly #columns: FileColumns;
  readonly #names: readonly string[];
  readonly #planner: PhotoPlanner;
  readonly #categories: CategoryPlanner;
  readonly #warnings: ValueWarnings;
  readonly #speciesOf: (categoryId: number) => Promise<string>;

  constructor(tx: Transaction, row: ImportRow, rules: CategoryRules) {
    this.#tx = tx;
    this.#row = row;
    this.#rules = rules;
    this.#names = JSON.parse(row.columns ?? '[]');
    this.#columns = bindColumns(presetOf(row), this.#names).columns;
    this.#planner = new PhotoPlanner(tx, row, rules.photoNetworks ?? []);
    this.#categories = new CategoryPlanner(tx, row, newCategoriesOf(rules, row));
    this.#warnings = new ValueWarnings(tx, row);
    this.#speciesOf = speciesIn(tx);
  }

  /** The photos that the rows want. */
  get photos(): WantedPhotos {
    return this.#planner.result;
  }

  /** Returns the categories that the rows have created, in a dry run. */
  newCategories(): Promise<number[]> {
    return this.#categories.created();
  }

  /** Warnings about the values of the rows. */
  get warnings(): readonly ImportError[] {
    return this.#warnings.found;
  }

  /**
   * Applies a row.
   * @throws {Problem} what creating or updating the pet throws
   */
  async apply([line, content, firstLine]: ImportRecord): Promise<RowOutcome> {
    const parsed = this.#parse(content);
    if (firstLine !== undefined) return isFurtherLine(parsed) ? 'unchanged' : [duplicate(firstLine)];
    if (Array.isArray(parsed)) return parsed;
    const { identifier, change, photos } = parsed as ParsedRow;
    const pet = identifier && (await this.#find(identifier));
    const changed = await change(pet);
    if (identifier === undefined) return [missingIdentifier, ...errorsIn(changed, pet)];
    if (pet === undefined && 'id' in identifier) return [notFound(identifier.id)];
    const applied = await (pet === undefined ? this.#create(changed) : this.#update(pet, changed));
    if (Array.isArray(applied)) return [...applied, ...(await this.#planner.errorsIn(photos))];
    const { outcome, pet: after } = applied as AppliedRow;
    await this.#warnings.check(line, after, changed);
    const isChanged = photos.length > 0 && (await this.#planner.plan(line, after, photos));
    return isChanged && outcome === 'unchanged' ? 'updated' : outcome;
  }

  /** Returns the errors of a row that failed. */
  errorsOf({ code, message, errors }: Problem): readonly RowError[] {
    if (!errors?.length) return [{ code, message }];
    return errors.map(error => ({ column: this.#columnAt(error.path), code: error.code, message: error.message }));
  }

  /** Returns the name of the column that a member of a body comes from, by JSON Pointer. */
  #columnAt(path: string): string {
    const name = path.slice(1).replaceAll('/', '.');
    return this.#names[this.#columns.findIndex(column => column?.from === name)]?.trim() ?? name;
  }

  #parse(content: string | readonly string[]): ParsedRow | RowError[] {
    if (typeof content !== 'string') {
      return this.#parsedCells({ columns: this.#columns, names: this.#names, cells: content });
    }
    const values = objectIn(content);
    if (values === undefined) return [invalidLine];
    if (presetOf(this.#row) === 'petstore') {
      const change = async (pet: PetRow | undefined) => changeIn(values, pet && this.#exported(pet));
      return { identifier: identifierIn(values), change, photos: [] };
    }
    const names = Object.keys(values);
    const { columns } = bindColumns(presetOf(this.#row), names);
    const cells = Object.values(values);
    const wrong = cells.findIndex(cell => typeof cell !== 'string');
    if (wrong < 0) return this.#parsedCells({ columns, names, cells: cells as string[] });
    return [{ column: shortened(names[wrong]!), code: 'invalid_type', message: 'Must be a string.' }];
  }

  #parsedCells(given: CellRow): ParsedRow | RowError[] {
    const row = withoutNothing(presetOf(this.#row), given);
    const { columns, names, cells } = row;
    if (!isWhole(columns, cells)) {
      const message = `The row has ${cells.length} cells, but the file has ${columns.length} columns.`;
      return [{ code: 'wrong_number_of_cells', message }];
    }
    const change = async (stored: PetRow | undefined) => {
      const pet = stored && this.#exported(stored);
      const { currency, date_order: dates } = this.#row;
      const categories = { categoryNamed: this.#categoryNamed, topCategories: this.#topCategories };
      const { now } = this.#tx;
      const rules = { pet, currency: currency ?? undefined, dates: dates ?? undefined, now, ...categories };
      const species = stored === undefined ? '' : await this.#speciesOf(stored.categoryId);
      return changeOf(row, rules, { species, publicUrl: '' });
    };
    const photos = columns.flatMap((column, index) =>
      column?.derived?.holds === 'photo'
        ? (cells[index] ?? '').split('\n').map(url => ({ column: names[index]!.trim(), url: url.trim() }))
        : [],
    );
    return { identifier: identifierOf(columns, cells), change, photos, row };
  }

  #exported(pet: PetRow) {
    return exportedPet(presetOf(this.#row), pet, this.#tx.now);
  }

  readonly #categoryNamed = async (name: string) => {
    const slug = foldedText(name)
      .trim()
      .replaceAll(/[^a-z0-9]+/g, '-');
    return (await this.#tx.first(categoryWithSlug, { slug }))?.id;
  };

  readonly #topCategories = async () => (await this.#tx.all(topCategories, {})).map(({ name }) => name);

  /** Returns the pet of the account with this identifier. */
  async #find(identifier: Identifier): Promise<PetRow | undefined> {
    const tx = this.#tx;
    const accountId = this.#row.account_id;
    if ('id' in identifier) return this.#petWithId(identifier.id);
    const { externalId, exact, name } = identifier;
    const [exactId] = exact === undefined ? [] : await petIdsOf(tx, accountId, exact);
    const [id] = exactId === undefined ? await petIdsOf(tx, accountId, externalId) : [exactId];
    if (id !== undefined) return getPet(tx, id, tx.now);
    if (name === undefined || !/^[1-9]\d{0,14}$/.test(externalId)) return undefined;
    // Another program may use the same number, so the name must be the same.
    const pet = await this.#petWithId(Number(externalId));
    return pet?.externalId === null && pet.name === name ? pet : undefined;
  }

  async #petWithId(id: number): Promise<PetRow | undefined> {
    const owner = await this.#tx.first(ownerOf, { id });
    return owner?.accountId === this.#row.account_id ? getPet(this.#tx, id, this.#tx.now) : undefined;
  }

  async #create(change: RowChange): Promise<AppliedRow | RowError[]> {
    const read = newPets.read(change.body, false);
    if ('errors' in read || change.errors.length > 0) return errorsIn(change, undefined);
    const petsMax = boundOf(this.#rules.bounds, this.#row, 'pets');
    const categories = await this.#categories.rulesFor((read.value as NewPet).categoryId);
    const bounds = { petsMax, petsPlanned: petsPlanned(this.#row) };
    const pet = await createPet(this.#tx, this.#row.account_id, read.value as NewPet, categories, bounds);
    return { outcome: 'created', pet };
  }

  async #update(pet: PetRow, change: RowChange): Promise<AppliedRow | RowError[]> {
    const read = petPatches.read(change.body, false);
    if ('errors' in read || change.errors.length > 0) return errorsIn(change, pet);
    if (Object.keys(change.body).length === 0) return { outcome: 'unchanged', pet };
    const actor = { accountId: this.#row.account_id, admin: false };
    const categories = await this.#categories.rulesFor((read.value as PetPatch).categoryId);
    const after = await updatePet(this.#tx, actor, pet.id, read.value as PetPatch, categories);
    return { outcome: after.version === pet.version ? 'unchanged' : 'updated', pet: after };
  }
}

/** Returns all errors of a row. @param pet the pet that it changes; absent for a new one */
function errorsIn(change: RowChange, pet: PetRow | undefined): RowError[] {
  const read = (pet === undefined ? newPets : petPatches).read(change.body, false);
  return rowErrors('errors' in read ? read.errors : [], change);
}

/** Reports whether a row repeats only the code and the name of an animal, as asm3 does for each vaccination or log entry. */
function isFurtherLine(parsed: ParsedRow | RowError[]): boolean {
  if (Array.isArray(parsed) || parsed.row === undefined) return false;
  return isOfOtherRecord(parsed.row);
}

const missingIdentifier: RowError = {
  column: 'externalId',
  code: 'required',
  message:
    'The row needs an identifier of 1 to 100 characters without control characters: your own, or the id of an animal.',
};

function duplicate(line: number): RowError {
  return { code: 'duplicate_row', message: `Line ${line} has the same identifier.` };
}

function notFound(id: number): RowError {
  const message = `Your account has no animal ${id}. To add one, give it an externalId.`;
  return { column: 'id', code: 'pet_not_found', message, value: String(id) };
}

function presetOf({ preset }: ImportRow): ExportPreset {
  return preset as ExportPreset;
}

const categoryWithSlug = query((db, p: Params<{ slug: string }>) =>
  db.selectFrom('categories').select('id').where('slug', '=', p.slug),
);

const topCategories = query(db =>
  db
    .selectFrom('categories')
    .select('name')
    .where('parent_id', 'is', null)
    .where('placeholder', '=', 0)
    .orderBy('id')
    .limit(SUGGESTED_FROM),
);
/** More categories than these are not compared with a name. */
const SUGGESTED_FROM = 100;

const ownerOf = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('pets').select('account_id as accountId').where('id', '=', p.id),
);
