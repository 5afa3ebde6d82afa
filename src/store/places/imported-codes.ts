import { countries } from '../../lib/countries.ts';
import type { Point } from '../../lib/distance.ts';
import { lockedFact, storeFact } from '../../model/facts.ts';
import { type Database, type Params, query, type Reader, selectJsonTexts, sql } from '../../model/schema.ts';
import type { PostalPlace } from './geonames.ts';

/** Returns the location of an imported postal code: the mean of its places. Reads one row by the primary key. */
export async function locationOfImportedCode(
  reader: Reader,
  country: string,
  code: string,
): Promise<Point | undefined> {
  const row = await reader.first(codeOf, { country, code });
  if (row === undefined) return undefined;
  const degrees = (sum: number) => Math.round(sum / row.places) / PER_DEGREE;
  return { latitude: degrees(row.latitude), longitude: degrees(row.longitude) };
}

/** Returns the countries that have imported postal codes, in alphabetical order. */
export async function importedCountries(reader: Reader): Promise<string[]> {
  const rows = await reader.all(countriesAmong, { countries: JSON.stringify(countries) });
  return rows.map(({ country }) => country).sort();
}

/** An import of postal codes into one database: add all places, then finish. */
interface PostalImport {
  /**
   * Adds places in one short transaction. The location of a code is the mean of its places; its first place replaces
   * that of an earlier import.
   */
  add(places: readonly PostalPlace[]): Promise<void>;
  /** Deletes the remaining codes of earlier imports of these countries. Returns the number of codes of each country. */
  finish(countries: readonly string[]): Promise<Map<string, number>>;
}

/**
 * Starts an import. Until the import finishes, each code has its old or its new location, so that an interrupted import
 * leaves no gap, and running it again completes it. Of two simultaneous imports, the later one wins.
 */
export async function startPostalImport(database: Database): Promise<PostalImport> {
  const number = await database.write(async tx => {
    const last = await tx.first(lockedFact, { name: IMPORTS });
    const next = Number(last?.value ?? 0) + 1;
    await tx.run(storeFact, { name: IMPORTS, value: String(next) });
    return next;
  });
  return {
    async add(places) {
      const rows = JSON.stringify(sumsOf(places).map(row => [...row, number]));
      await database.write(tx => tx.run(addCodes, { rows }));
    },
    async finish(countries) {
      const counts = new Map<string, number>();
      for (const country of countries) counts.set(country, await deleteOlder(database, country, number));
      return counts;
    },
  };
}

/** The fact that counts the imports. */
const IMPORTS = 'postal_code_imports';
const PER_DEGREE = 1_000_000;
const ROWS_PER_BATCH = 1000;

/** Returns the rows of places: the sums of each code. */
function sumsOf(places: readonly PostalPlace[]) {
  const rows = new Map<string, [country: string, code: string, latitude: number, longitude: number, places: number]>();
  for (const { country, code, latitude, longitude } of places) {
    const key = `${country} ${code}`;
    const [, , north, east, count] = rows.get(key) ?? [country, code, 0, 0, 0];
    const sum = (before: number, degrees: number) => before + Math.round(degrees * PER_DEGREE);
    rows.set(key, [country, code, sum(north, latitude), sum(east, longitude), count + 1]);
  }
  return [...rows.values()];
}

/** Deletes the codes of a country that a later import lacks. Returns the number of remaining codes. */
async function deleteOlder(database: Database, country: string, number: number): Promise<number> {
  let after = '';
  let left = 0;
  for (;;) {
    const codes = await database.all(codesAfter, { country, after, limit: ROWS_PER_BATCH });
    const last = codes.at(-1);
    if (last === undefined) return left;
    const isOld = codes.some(code => code.importNumber < number);
    const range = { country, after, last: last.code, number };
    const deleted = isOld ? await database.write(tx => tx.run(deleteOlderCodes, range)) : 0;
    left += codes.length - deleted;
    after = last.code;
  }
}

const codeOf = query((db, p: Params<{ country: string; code: string }>) =>
  db
    .selectFrom('postal_codes')
    .select(['latitude', 'longitude', 'places'])
    .where('country', '=', p.country)
    .where('code', '=', p.code),
);

/** One look-up in the primary key per country, even with many codes. */
const countriesAmong = query((db, p: Params<{ countries: string }>, engine) =>
  db
    .selectFrom(selectJsonTexts(p.countries, engine).as<'known'>('known'))
    .select(sql<string>`known.value`.as('country'))
    .where(sql<boolean>`exists (select 1 from postal_codes where country = known.value)`),
);

const addCodes = query((db, p: Params<{ rows: string }>, engine) =>
  db
    .insertInto('postal_codes')
    .columns(['country', 'code', 'latitude', 'longitude', 'places', 'import_number'])
    .expression(
      engine === 'sqlite'
        ? sql<never>`select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5
                     from json_each(${p.rows}) where true`
        : sql<never>`select row ->> 0, row ->> 1, (row ->> 2)::bigint, (row ->> 3)::bigint, (row ->> 4)::bigint,
                            (row ->> 5)::bigint
                     from json_array_elements(cast(${p.rows} as json)) as rows (row)`,
    )
    .onConflict(conflict =>
      conflict
        .columns(['country', 'code'])
        .doUpdateSet({
          latitude: added('latitude'),
          longitude: added('longitude'),
          places: added('places'),
          import_number: sql<number>`excluded.import_number`,
        })
        .where(sql<boolean>`postal_codes.import_number <= excluded.import_number`),
    ),
);

/** Adds to rows of the same import, and replaces rows of an earlier import. */
function added(column: 'latitude' | 'longitude' | 'places') {
  return sql<number>`${sql.ref(`excluded.${column}`)} + case
    when postal_codes.import_number = excluded.import_number then ${sql.ref(`postal_codes.${column}`)} else 0 end`;
}

const codesAfter = query((db, p: Params<{ country: string; after: string; limit: number }>) =>
  db
    .selectFrom('postal_codes')
    .select(['code', 'import_number as importNumber'])
    .where('country', '=', p.country)
    .where('code', '>', p.after)
    .orderBy('code')
    .limit(p.limit),
);

const deleteOlderCodes = query((db, p: Params<{ country: string; after: string; last: string; number: number }>) =>
  db
    .deleteFrom('postal_codes')
    .where('country', '=', p.country)
    .where('code', '>', p.after)
    .where('code', '<=', p.last)
    .where('import_number', '<', p.number),
);
