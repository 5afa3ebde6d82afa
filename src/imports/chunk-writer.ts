import type { Deployment } from '../deployment.ts';
import { hasDates, presetTitles } from '../exports/presets.ts';
import { type DateOrder, DateOrders } from '../exports/read-cells.ts';
import { countStored } from '../plans/stored-bytes.ts';
import { type Params, query, sql, type Transaction } from '../schema.ts';
import { uploadError } from './authority.ts';
import {
  betterPreset,
  bindColumns,
  type FileColumns,
  identifierIn,
  identifierOf,
  ignoredColumn,
  isWhole,
  keyOf,
  unknownMember,
  unknownMembersOf,
} from './convert.ts';
import { FurtherLines } from './further-lines.ts';
import type { ImportError } from './import.ts';
import { invalidImport } from './invalid-import.ts';
import { objectIn } from './json-line.ts';
import type { ImportOptions } from './options.ts';
import { recordErrors } from './record-errors.ts';
import { CHUNK_ROWS, type ImportRecord } from './records.ts';
import { UNCLEAR_KEY } from './removals.ts';

/** How long the next part of a file may take before the import counts as abandoned, in milliseconds. */
export const RECEIVING_MS = 2 * 60_000;
const ROWS_MAX = 1_000_000;
const CHUNK_CHARACTERS = 32 * 1024;
/** The rows that are stored in one transaction. */
const BATCH_CHUNKS = 20;
const BATCH_CHARACTERS = 512 * 1024;
/** After this time, the rows of a file that arrives slowly are stored before they fill a batch. */
const BATCH_MS = RECEIVING_MS / 4;
/** The most names of unknown members that have a warning. */
const UNKNOWN_MAX = 100;

/** Collects rows, and stores them in chunks. */
export class ChunkWriter {
  readonly #deps: Pick<Deployment, 'database' | 'clock'>;
  readonly #id: number;
  readonly #options: ImportOptions;
  #columns: FileColumns | undefined;
  #further: FurtherLines | undefined;
  readonly #dates = new DateOrders();
  #warnings: ImportError[] = [];
  /** The unknown members of NDJSON that have a warning. */
  readonly #unknown = new Set<string>();
  /** Whether `replace` cannot tell which animals the file lacks. */
  #isUnclear = false;
  #rows: ImportRecord[] = [];
  #characters = 0;
  #chunks: ImportRecord[][] = [];
  #batchCharacters = 0;
  #count = 0;
  #storedAt: number;

  constructor(deps: Pick<Deployment, 'database' | 'clock'>, id: number, options: ImportOptions) {
    this.#deps = deps;
    this.#storedAt = deps.clock.now();
    this.#id = id;
    this.#options = options;
  }

  async add(records: readonly ImportRecord[]): Promise<void> {
    for (const record of records) {
      if (this.#options.format === 'csv' && this.#columns === undefined) {
        await this.#begin(record[1] as readonly string[]);
        continue;
      }
      if (this.#count === 0 && typeof record[1] === 'string')
        this.#requirePreset(Object.keys(objectIn(record[1]) ?? {}));
      const row = this.#further === undefined ? record : this.#further.add(record);
      if (row !== undefined) await this.#addRow(row);
    }
    if (this.#deps.clock.now() - this.#storedAt >= BATCH_MS) {
      this.#endChunk();
      await this.#store();
    }
  }

  async #addRow(record: ImportRecord): Promise<void> {
    if (++this.#count > ROWS_MAX) throw invalidImport(record[0], 'The file has more than 1,000,000 rows.');
    this.#rows.push(record);
    const content = record[1];
    const length = typeof content === 'string' ? content.length : content.reduce((sum, cell) => sum + cell.length, 0);
    this.#characters += length;
    this.#batchCharacters += length;
    if (this.#rows.length >= CHUNK_ROWS || this.#characters >= CHUNK_CHARACTERS) this.#endChunk();
    if (this.#chunks.length >= BATCH_CHUNKS || this.#batchCharacters >= BATCH_CHARACTERS) await this.#store();
  }

  async end(): Promise<void> {
    if (this.#options.format === 'csv' && this.#columns === undefined) {
      throw invalidImport(1, 'The file is empty: its first line must have the names of the columns.');
    }
    const last = this.#further?.end();
    if (last !== undefined) await this.#addRow(last);
    this.#endChunk();
    await this.#store();
    const dates = this.#options.dates ?? this.#dates.order;
    if (dates !== undefined) await this.#deps.database.write(tx => tx.run(setDateOrder, { id: this.#id, dates }));
  }

  async #begin(names: readonly string[]): Promise<void> {
    this.#requirePreset(names);
    const { columns, unknown } = bindColumns(this.#options.preset, names);
    this.#columns = columns;
    if (this.#options.preset === 'asm3') this.#further = new FurtherLines({ columns, names });
    const isIdentifier = (column: FileColumns[number]) =>
      column?.from === 'externalId' || ['id', 'identifier'].includes(column?.derived?.holds ?? '');
    if (!columns.some(isIdentifier)) {
      throw invalidImport(
        1,
        'No column has the identifiers of the animals, such as externalId. Check "Columns of the file" (`preset`).',
      );
    }
    const warningOf = (name: string) => ignoredColumn(this.#options.preset, name, columns, names);
    this.#warnings = unknown.map(name => ({ level: 'warning', line: 1, ...warningOf(name) }));
    await this.#deps.database.write(async tx => {
      await tx.run(setColumns, { id: this.#id, columns: JSON.stringify(names) });
    });
  }

  /** @throws {Problem} `invalid_import` if the columns are those of another preset */
  #requirePreset(names: readonly string[]): void {
    const better = betterPreset(this.#options.preset, names);
    if (better === undefined) return;
    throw invalidImport(
      1,
      `The columns are those of ${presetTitles[better]}: choose it under "Columns of the file", or send \`preset=${better}\`.`,
    );
  }

  /** Warns of members that animals do not have, once for each name. */
  #warnOfMembers(line: number, values: Readonly<Record<string, unknown>>): void {
    for (const name of unknownMembersOf(values)) {
      if (this.#unknown.has(name) || this.#unknown.size >= UNKNOWN_MAX) continue;
      this.#unknown.add(name);
      this.#warnings.push({ level: 'warning', line, ...unknownMember(name) });
    }
  }

  #endChunk(): void {
    if (this.#rows.length > 0) this.#chunks.push(this.#rows);
    this.#rows = [];
    this.#characters = 0;
  }

  async #store(): Promise<void> {
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#batchCharacters = 0;
    const keys = chunks.flat().flatMap(([line, content]) => this.#keysOf(line, content));
    const warnings = this.#warnings;
    this.#warnings = [];
    if (chunks.length === 0 && warnings.length === 0) return;
    this.#storedAt = this.#deps.clock.now();
    await this.#deps.database.write(async tx => {
      await this.#insert(tx, chunks, keys);
      await recordErrors(tx, this.#id, warnings);
      await tx.run(addWarnings, { id: this.#id, warnings: warnings.length });
    });
  }

  async #insert(tx: Transaction, chunks: readonly ImportRecord[][], keys: readonly Key[]): Promise<void> {
    const id = this.#id;
    const firstLines = await this.#insertKeys(tx, keys);
    const texts = chunks.map(chunk => JSON.stringify(chunk.map(record => withFirstLine(record, firstLines))));
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    const rows = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    const extended = await tx.first(extend, { id, chunks: texts.length, rows, dueAt: tx.now + RECEIVING_MS });
    if (extended === undefined) throw await uploadError(tx, id);
    const first = extended.chunks - texts.length;
    for (const [index, rows] of texts.entries()) await tx.run(insertChunk, { id, number: first + index, rows });
    await countStored(tx, this.#options.accountId, bytes, this.#options.storedMax);
  }

  /** Stores the keys of rows. Returns the first line with the same key of each line that is not the first. */
  async #insertKeys(tx: Transaction, keys: readonly Key[]): Promise<ReadonlyMap<number, number>> {
    const exact = keys.flatMap(({ exact, line }) => (exact === undefined ? [] : [[exact, line]]));
    const rows = JSON.stringify(keys.map(({ key, line }) => [key, line]));
    const inserted = new Set((await tx.all(insertKeys, { id: this.#id, keys: rows })).map(({ line }) => line));
    if (exact.length > 0) await tx.all(insertKeys, { id: this.#id, keys: JSON.stringify(exact) });
    const firstLines = new Map<number, number>();
    for (const { key, line } of keys) {
      if (inserted.has(line)) continue;
      firstLines.set(line, (await tx.first(lineOfKey, { id: this.#id, key }))!.line);
    }
    return firstLines;
  }

  /** Returns the key of a row; of the first row without an identifier, a mark so that `replace` deletes nothing. */
  #keysOf(line: number, content: ImportRecord[1]): Key[] {
    const identifier = this.#identifierOf(line, content);
    if (identifier !== undefined) {
      const exact = 'exact' in identifier ? `e${identifier.exact}` : undefined;
      return [{ key: keyOf(identifier), line, exact }];
    }
    if (this.#options.mode === 'upsert' || this.#isUnclear) return [];
    this.#isUnclear = true;
    const message = 'It is not clear which animal the row is, so no animals are deleted.';
    this.#warnings.push({ level: 'warning', line, code: 'removals_skipped', message });
    return [{ key: UNCLEAR_KEY, line, exact: undefined }];
  }

  #identifierOf(line: number, content: ImportRecord[1]) {
    if (typeof content !== 'string') {
      this.#seeDates(this.#columns!, line, content);
      return isWhole(this.#columns!, content) ? identifierOf(this.#columns!, content) : undefined;
    }
    const values = objectIn(content);
    if (values === undefined) return undefined;
    if (this.#options.preset === 'petstore') {
      this.#warnOfMembers(line, values);
      return identifierIn(values);
    }
    const { columns } = bindColumns(this.#options.preset, Object.keys(values));
    const cells = Object.values(values).map(cell => (typeof cell === 'string' ? cell : ''));
    this.#seeDates(columns, line, cells);
    return identifierOf(columns, cells);
  }

  #seeDates(columns: FileColumns, line: number, cells: readonly string[]): void {
    if (this.#options.dates !== undefined) return;
    const now = this.#deps.clock.now();
    for (const [index, column] of columns.entries()) {
      if (column === undefined || !hasDates(column)) continue;
      const cell = cells[index] ?? '';
      const earlier = this.#dates.see({ line, cell }, now);
      if (earlier !== undefined) this.#warnings.push(contraryDates(line, cell, earlier));
    }
  }
}

/** The key of the identifier of a row. */
interface Key {
  readonly key: string;
  readonly line: number;
  /** The key with white space around the identifier, which an animal can have; see `petsAfter`. */
  readonly exact: string | undefined;
}

function contraryDates(
  line: number,
  value: string,
  earlier: { readonly line: number; readonly cell: string },
): ImportError {
  const message = `The file has dates in two orders: ${earlier.cell.trim()} in line ${earlier.line}, and ${value.trim()} here.`;
  return { level: 'warning', line, code: 'contrary_dates', message, value };
}

function withFirstLine([line, content]: ImportRecord, firstLines: ReadonlyMap<number, number>): ImportRecord {
  const first = firstLines.get(line);
  return first === undefined ? [line, content] : [line, content, first];
}

const setColumns = query((db, p: Params<{ id: number; columns: string }>) =>
  db.updateTable('imports').set({ columns: p.columns }).where('id', '=', p.id),
);

const setDateOrder = query((db, p: Params<{ id: number; dates: DateOrder }>) =>
  db.updateTable('imports').set({ date_order: p.dates }).where('id', '=', p.id),
);

const addWarnings = query((db, p: Params<{ id: number; warnings: number }>) =>
  db
    .updateTable('imports')
    .set(eb => ({ warnings: eb('warnings', '+', p.warnings) }))
    .where('id', '=', p.id),
);

type Added = { id: number; chunks: number; rows: number; dueAt: number };

const extend = query((db, p: Params<Added>) =>
  db
    .updateTable('imports')
    .set(eb => ({
      chunks: eb('chunks', '+', p.chunks),
      row_count: eb('row_count', '+', p.rows),
      due_at: p.dueAt,
    }))
    .where('id', '=', p.id)
    .where('state', '=', sql.lit('receiving'))
    .returning('chunks'),
);

const insertChunk = query((db, p: Params<{ id: number; number: number; rows: string }>) =>
  db.insertInto('import_chunks').values({ import_id: p.id, number: p.number, rows: p.rows }),
);

export const insertKeys = query((db, p: Params<{ id: number; keys: string }>, engine) =>
  db
    .insertInto('import_keys')
    .columns(['import_id', 'key', 'line'])
    .expression(
      engine === 'sqlite'
        ? sql`select ${p.id}, value ->> 0, value ->> 1 from json_each(${p.keys}) where true`
        : sql`select cast(${p.id} as bigint), value ->> 0, (value ->> 1)::bigint
              from json_array_elements(cast(${p.keys} as json))`,
    )
    .onConflict(conflict => conflict.doNothing())
    .returning('line'),
);

const lineOfKey = query((db, p: Params<{ id: number; key: string }>) =>
  db.selectFrom('import_keys').select('line').where('import_id', '=', p.id).where('key', '=', p.key),
);
