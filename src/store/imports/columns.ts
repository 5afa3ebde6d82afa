import { nearest } from '../../lib/suggestion.ts';
import { isAsm3Column } from '../exports/asm3.ts';
import { type PetValues, petColumnList } from '../exports/columns.ts';
import { columnsOf, type ExportPreset, type PresetColumn, presetNames } from '../exports/presets.ts';
import { type RowError, shortened } from './errors.ts';

/** The columns of a file in order, with their names in the file; `undefined` for an ignored column. */
export interface FileHeader {
  readonly preset: ExportPreset;
  readonly names: readonly string[];
  readonly columns: readonly (PresetColumn | undefined)[];
}

/**
 * Looks up the columns of a file in a preset by their names, and else by their aliases, without case, spaces and
 * punctuation. Ignores unknown and repeated ones.
 */
export function headerOf(preset: ExportPreset, names: readonly string[]): FileHeader {
  const indexes = new Map(names.map((name, index) => [foldedName(name), index] as const).toReversed());
  const columns: (PresetColumn | undefined)[] = names.map(() => undefined);
  for (const column of columnsOf(preset)) {
    const name = foldedNamesOf(column).find(name => indexes.has(name));
    if (name === undefined) continue;
    columns[indexes.get(name)!] = column;
    indexes.delete(name);
  }
  return { preset, names, columns };
}

/** Returns the preset that clearly fits the columns of a file better; `undefined` if none does. */
export function betterPreset(preset: ExportPreset, names: readonly string[]): ExportPreset | undefined {
  const countIn = (name: ExportPreset) => headerOf(name, names).columns.filter(column => column !== undefined).length;
  const counts = new Map(presetNames.map(name => [name, countIn(name)]));
  const most = Math.max(...counts.values());
  const count = counts.get(preset)!;
  // Lists that people write share some column names with other programs.
  if (most - count < 3 || count > most * 0.75) return undefined;
  return presetNames.find(name => counts.get(name) === most);
}

function foldedNamesOf(column: PresetColumn): readonly string[] {
  return foldedNames.getOrInsertComputed(column, ({ name, aliases }) => [name, ...aliases].map(foldedName));
}

const foldedNames = new Map<PresetColumn, readonly string[]>();

function foldedName(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/**
 * Returns a warning about each ignored column: it is unknown, or repeats another column of the file. There is none about
 * known extra columns of a program.
 */
export function ignoredColumns(header: FileHeader): RowError[] {
  const { preset, names, columns } = header;
  const isKnown = (name: string) => name.trim() === '' || (preset === 'asm3' && isAsm3Column(name));
  const ignored = names.filter((name, index) => columns[index] === undefined && !isKnown(name));
  return ignored.map(name => ignoredColumn(header, name));
}

function ignoredColumn({ preset, names, columns }: FileHeader, name: string): RowError {
  const folded = foldedName(name);
  const read = columns.findIndex(column => column !== undefined && foldedNamesOf(column).includes(folded));
  const column = shortened(name);
  if (read >= 0) {
    const other = foldedName(names[read]!) === folded ? 'the first one' : shortened(names[read]!.trim());
    const message = `The file has this column twice: ${other} is read, and this column is ignored.`;
    return { column, code: 'duplicate_column', message };
  }
  const known = columnsOf(preset).flatMap(column => [column.name, ...column.aliases]);
  const suggestion = nearest(name.trim().slice(0, 100), known);
  const message = 'The column is not known: it is ignored.';
  return { column, code: 'unknown_column', message, ...(suggestion && { suggestion }) };
}

const fieldNames = ['id', ...new Set(petColumnList.map(({ field }) => field))];

/** Returns the members of a row of NDJSON that are not fields of pets. */
export function unknownMembersOf(values: PetValues): string[] {
  return Object.keys(values).filter(name => !fieldNames.includes(name));
}

/** Returns the warning about such a member. */
export function unknownMember(name: string): RowError {
  const suggestion = nearest(name.slice(0, 100), fieldNames);
  const message = 'Animals have no such field: the import ignores the field in all rows.';
  return { column: shortened(name), code: 'unknown_member', message, ...(suggestion && { suggestion }) };
}
