import type { Deployment } from '../../access/deployment.ts';
import { countStored } from '../../access/plans/stored-bytes.ts';
import { countText } from '../../lib/text.ts';
import { boundOf } from '../../model/plan.ts';
import { IMPORT_ROWS_MAX } from '../../model/rules.ts';
import { type Params, query, sql, type Transaction } from '../../model/schema.ts';
import { hasDates, presetTitles } from '../exports/presets.ts';
import { DateOrders } from '../exports/read-cells.ts';
import { uploadError } from './authority.ts';
import { CHUNK_ROWS } from './chunk.ts';
import { betterPreset, type FileHeader, headerOf, ignoredColumns, unknownMember, unknownMembersOf } from './columns.ts';
import { type ImportError, invalidImport, recordErrors } from './errors.ts';
import { FurtherLines } from './further-lines.ts';
import type { ImportOptions, ImportRow } from './import.ts';
import { UNCLEAR_KEY } from './removals.ts';
import { type CellRow, type ImportRecord, keyOf, objectIn, readRow } from './rows.ts';
import { lockImport, saveImport } from './steps.ts';

/** The time in which the next part of a file must arrive before the import counts as abandoned, in milliseconds. */
export const RECEIVING_MS = 2 * 60_000;
/** A chunk ends after 25 rows, or after the row with this number of characters. */
const CHUNK_CHARACTERS = 32 * 1024;
/** The number of rows, and of characters, that are stored in one transaction. */
const BATCH_ROWS = 20 * CHUNK_ROWS;
const BATCH_CHARACTERS = 512 * 1024;
/** The time after which the rows of a slow file are stored before they fill a batch. */
const BATCH_MS = RECEIVING_MS / 4;
/** The maximum number of names of unknown members that get a warning. */
const UNKNOWN_MAX = 100;

/** What receiving a file needs of a deployment. */
export type ReceiveDeps = Pick<Deployment, 'database' | 'clock' | 'bounds'>;

/** Collects rows, and stores them in chunks. */
export class ChunkWriter {
  readonly #deps: ReceiveDeps;
  readonly #id: number;
  readonly #options: ImportOptions;
  /** The columns of CSV; none before its first line, and none for NDJSON. */
  #header: FileHeader;
  #further: FurtherLines | undefined;
  readonly #dates = new DateOrders();
  #warnings: ImportError[] = [];
  /** The unknown members of NDJSON that already have a warning. */
  readonly #unknown = new Set<string>();
  /** Whether `replace` cannot determine which animals are missing from the file. */
  #isUnclear = false;
  /** The rows that are not stored yet, and their characters. */
  #rows: ImportRecord[] = [];
  #characters = 0;
  #count = 0;
  #storedAt: number;

  constructor(deps: ReceiveDeps, id: number, options: ImportOptions) {
    this.#deps = deps;
    this.#storedAt = deps.clock.now();
    this.#id = id;
    this.#options = options;
    this.#header = headerOf(options.preset, []);
  }

  async add(records: readonly ImportRecord[]): Promise<void> {
    for (const record of records) {
      const row = this.#rowOf(record);
      if (row !== undefined) await this.#addRow(row);
    }
    if (this.#deps.clock.now() - this.#storedAt >= BATCH_MS) await this.#store();
  }

  /** Returns the row that a record completes, if any. The first record of CSV has the names of the columns. */
  #rowOf(record: ImportRecord): ImportRecord | undefined {
    const [line, content] = record;
    if (typeof content === 'string') {
      if (this.#count === 0) this.#requirePreset(Object.keys(objectIn(content) ?? {}));
      return record;
    }
    if (!this.#lacksHeader) return this.#further === undefined ? record : this.#further.add([line, content]);
    this.#begin(content);
    return undefined;
  }

  async #addRow(record: ImportRecord): Promise<void> {
    if (++this.#count > IMPORT_ROWS_MAX)
      throw invalidImport(record[0], `The file has more than ${countText(IMPORT_ROWS_MAX)} rows.`);
    this.#rows.push(record);
    this.#characters += lengthOf(record);
    if (this.#rows.length >= BATCH_ROWS || this.#characters >= BATCH_CHARACTERS) await this.#store();
  }

  async end(): Promise<void> {
    if (this.#lacksHeader) {
      throw invalidImport(1, 'The file is empty: its first line must contain the names of the columns.');
    }
    const last = this.#further?.end();
    if (last !== undefined) await this.#addRow(last);
    await this.#store();
    const { names } = this.#header;
    const columns = names.length > 0 ? JSON.stringify(names) : null;
    const dates = this.#options.dates ?? this.#dates.order ?? null;
    await this.#deps.database.write(tx => tx.run(setFormat, { id: this.#id, columns, dates }));
  }

  /** Whether the first line of CSV has not arrived. */
  get #lacksHeader(): boolean {
    return this.#options.format === 'csv' && this.#header.names.length === 0;
  }

  #begin(names: readonly string[]): void {
    this.#requirePreset(names);
    const header = headerOf(this.#options.preset, names);
    this.#header = header;
    if (this.#options.preset === 'asm3') this.#further = new FurtherLines(header);
    const hasIdentifiers = header.columns.some(
      column => column?.from === 'externalId' || ['id', 'identifier'].includes(column?.derived?.holds ?? ''),
    );
    if (!hasIdentifiers) {
      throw invalidImport(
        1,
        'No column has the identifiers of the animals, such as externalId. Check "Columns of the file" (`preset`).',
      );
    }
    for (const warning of ignoredColumns(header)) this.#warnings.push({ level: 'warning', line: 1, ...warning });
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

  /** Adds warnings about members that animals do not have, once per name. */
  #warnOfMembers(line: number, values: Readonly<Record<string, unknown>>): void {
    for (const name of unknownMembersOf(values)) {
      if (this.#unknown.has(name) || this.#unknown.size >= UNKNOWN_MAX) continue;
      this.#unknown.add(name);
      this.#warnings.push({ level: 'warning', line, ...unknownMember(name) });
    }
  }

  async #store(): Promise<void> {
    const chunks = chunksOf(this.#rows);
    this.#rows = [];
    this.#characters = 0;
    const keys = chunks.flat().flatMap(([line, content]) => this.#keysOf(line, content));
    const warnings = this.#warnings;
    this.#warnings = [];
    if (chunks.length === 0 && warnings.length === 0) return;
    this.#storedAt = this.#deps.clock.now();
    await this.#deps.database.write(async tx => {
      const row = await lockImport(tx, this.#id);
      if (row?.state !== 'receiving') throw uploadError(row);
      const firstLines = await this.#insertKeys(tx, keys);
      const texts = chunks.map(chunk => JSON.stringify(chunk.map(record => withFirstLine(record, firstLines))));
      for (const [index, rows] of texts.entries()) {
        await tx.run(insertChunk, { id: row.id, number: row.chunks + index, rows });
      }
      await recordErrors(tx, row.id, warnings);
      await saveImport(tx, row, {
        ...{ chunks: row.chunks + chunks.length, row_count: row.row_count + chunks.flat().length },
        ...{ warnings: row.warnings + warnings.length, due_at: tx.now + RECEIVING_MS },
      });
      const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
      await countStored(tx, row.account_id, bytes, boundOf(this.#deps.bounds, row, 'storedBytes'));
    });
  }

  /** Stores the keys of rows. Returns the first line with the same key for each line that repeats a key. */
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

  /**
   * Returns the key of a row. For the first row without an identifier, returns a mark so that `replace` deletes
   * nothing.
   */
  #keysOf(line: number, content: ImportRecord[1]): Key[] {
    const identifier = this.#identifierOf(line, content);
    if (identifier !== undefined) {
      const exact = 'exact' in identifier ? `e${identifier.exact}` : undefined;
      return [{ key: keyOf(identifier), line, exact }];
    }
    if (this.#options.mode === 'upsert' || this.#isUnclear) return [];
    this.#isUnclear = true;
    const message = 'The import cannot tell which animal the row is for, so it deletes no animals.';
    this.#warnings.push({ level: 'warning', line, code: 'removals_skipped', message });
    return [{ key: UNCLEAR_KEY, line, exact: undefined }];
  }

  /** Returns the identifier of a row, and adds warnings about its members and dates. */
  #identifierOf(line: number, content: ImportRecord[1]) {
    const { identifier, cells, values } = readRow(this.#header, content);
    if (values !== undefined) this.#warnOfMembers(line, values);
    if (cells !== undefined) this.#seeDates(line, cells);
    return identifier;
  }

  #seeDates(line: number, { columns, cells }: CellRow): void {
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

/** Splits rows into chunks. */
function chunksOf(rows: readonly ImportRecord[]): ImportRecord[][] {
  const chunks: ImportRecord[][] = [];
  let chunk: ImportRecord[] = [];
  let characters = 0;
  for (const row of rows) {
    chunk.push(row);
    characters += lengthOf(row);
    if (chunk.length < CHUNK_ROWS && characters < CHUNK_CHARACTERS) continue;
    chunks.push(chunk);
    chunk = [];
    characters = 0;
  }
  if (chunk.length > 0) chunks.push(chunk);
  return chunks;
}

/** Returns the number of characters of a row. */
function lengthOf([, content]: ImportRecord): number {
  return typeof content === 'string' ? content.length : content.reduce((sum, cell) => sum + cell.length, 0);
}

/** The key of the identifier of a row. */
interface Key {
  readonly key: string;
  readonly line: number;
  /** The key with the white space around the identifier, which stored animals can have; see `petsAfter`. */
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

const setFormat = query((db, p: Params<{ id: number; columns: string | null; dates: ImportRow['date_order'] }>) =>
  db.updateTable('imports').set({ columns: p.columns, date_order: p.dates }).where('id', '=', p.id),
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
