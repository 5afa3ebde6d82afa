import type { PetRow } from '../../model/pet.ts';
import { type Params, query, sql } from '../../model/schema.ts';
import {
  type KnownValues,
  knownValues,
  type UnknownValue,
  unknownValues,
  unknownValueWarning,
} from '../profile/attributes.ts';
import { columnOf, type RowChange } from './changes.ts';
import type { Chunk } from './chunk.ts';
import type { ImportError } from './errors.ts';

/** The maximum number of warnings of an import; further unknown values are stored without a warning. */
const WARNINGS_MAX = 100;

/**
 * Adds warnings about unknown breeds, colors and coats after a change of a pet: once per value, import and column.
 */
export async function warnOfValues(chunk: Chunk, line: number, pet: PetRow, change: RowChange): Promise<void> {
  const isChanged = ['breeds', 'colors', 'coat'].some(name => name in change.body);
  if (!isChanged || isFull(chunk)) return;
  const known = await knownIn(chunk, pet.categoryId);
  if (known === undefined) return;
  for (const unknown of unknownValues(known, pet)) {
    const field = unknown.path.split('/')[1]!;
    if (field in change.body) await warn(chunk, line, unknown, known, columnOf(unknown.path, change));
  }
}

async function warn(chunk: Chunk, line: number, unknown: UnknownValue, known: KnownValues, column: string) {
  chunk.warned ??= new Set(
    (await chunk.tx.all(storedWarnings, { id: chunk.row.id })).map(({ error }) => keyOf(JSON.parse(error))),
  );
  const key = keyOf({ column, value: unknown.value });
  if (chunk.warned.has(key) || isFull(chunk)) return;
  chunk.warned.add(key);
  chunk.counts.warnings++;
  const { path: _, ...warning } = unknownValueWarning(known, unknown);
  chunk.report('warning', line, { column, ...warning });
}

function isFull(chunk: Chunk): boolean {
  return chunk.countOf('warnings') >= WARNINGS_MAX;
}

async function knownIn({ tx, knownValues: read }: Chunk, categoryId: number): Promise<KnownValues | undefined> {
  if (!read.has(categoryId)) read.set(categoryId, await knownValues(tx, categoryId));
  return read.get(categoryId);
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
