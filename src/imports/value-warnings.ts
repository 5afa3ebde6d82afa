import {
  type KnownValues,
  knownValues,
  type UnknownValue,
  unknownValues,
  unknownValueWarning,
} from '../pets/attributes.ts';
import type { PetRow } from '../pets/pet.ts';
import { type Params, query, sql, type Transaction } from '../schema.ts';
import { columnOf, type RowChange } from './convert.ts';
import type { ImportError, ImportRow } from './import.ts';

/** An import has at most so many warnings; after them, unknown values are kept without one. */
const WARNINGS_MAX = 100;

/** Warns of breeds, colors and coats that are not known: of each value once per import and column. */
export class ValueWarnings {
  readonly #tx: Transaction;
  readonly #row: ImportRow;
  readonly #known = new Map<number, KnownValues | undefined>();
  #warned: Set<string> | undefined;
  readonly #found: ImportError[] = [];

  constructor(tx: Transaction, row: ImportRow) {
    this.#tx = tx;
    this.#row = row;
  }

  /** The warnings about the pets that were checked. */
  get found(): readonly ImportError[] {
    return this.#found;
  }

  /** Checks a pet after a change of some of its values. */
  async check(line: number, pet: PetRow, change: RowChange): Promise<void> {
    const isChanged = ['breeds', 'colors', 'coat'].some(name => name in change.body);
    if (!isChanged || this.#isFull) return;
    const known = await this.#knownIn(pet.categoryId);
    if (known === undefined) return;
    for (const unknown of unknownValues(known, pet)) {
      const field = unknown.path.split('/')[1]!;
      if (field in change.body) await this.#warn(line, unknown, known, columnOf(unknown.path, change));
    }
  }

  async #warn(line: number, unknown: UnknownValue, known: KnownValues, column: string): Promise<void> {
    this.#warned ??= new Set(
      (await this.#tx.all(storedWarnings, { id: this.#row.id })).map(({ error }) => keyOf(JSON.parse(error))),
    );
    const key = keyOf({ column, value: unknown.value });
    if (this.#warned.has(key) || this.#isFull) return;
    this.#warned.add(key);
    const { path: _, ...warning } = unknownValueWarning(known, unknown);
    this.#found.push({ level: 'warning', line, column, ...warning });
  }

  get #isFull(): boolean {
    return this.#row.warnings + this.#found.length >= WARNINGS_MAX;
  }

  async #knownIn(categoryId: number): Promise<KnownValues | undefined> {
    if (!this.#known.has(categoryId)) this.#known.set(categoryId, await knownValues(this.#tx, categoryId));
    return this.#known.get(categoryId);
  }
}

const keyOf = ({ column, value }: Pick<ImportError, 'column' | 'value'>) => JSON.stringify([column, value]);

const storedWarnings = query((db, p: Params<{ id: number }>) =>
  db
    .selectFrom('import_errors')
    .select('error')
    .where('import_id', '=', p.id)
    .where('error', 'like', sql.lit('{"level":"warning",%'))
    .orderBy('number')
    .limit(sql.lit(WARNINGS_MAX)),
);
