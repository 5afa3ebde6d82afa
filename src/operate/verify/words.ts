import { type Params, query, type Reader, sql } from '../../model/schema.ts';
import { wordIndexState } from '../../store/search/word-index.ts';
import { wordsOf } from '../../store/search/words.ts';

/** How many pets are read at a time. */
const PETS_AT_ONCE = 500;

/**
 * Finds pets whose words are not in the index, and rows of the index without a pet. If the index is still being filled,
 * checks only the completed part. Does not check it while the words of descriptions are being added or removed.
 * @param most the maximum number of findings
 */
export async function wrongWords(reader: Reader, most: number): Promise<{ finding: string }[]> {
  const { filledTo, usable, described } = await wordIndexState(reader);
  const isComplete = filledTo === Number.POSITIVE_INFINITY;
  if (usable && !isComplete) return [];
  const findings: { finding: string }[] = [];
  let after = 0;
  let words = 0;
  while (findings.length < most) {
    const pets = await reader.all(petsAfter, { after, upTo: Math.min(filledTo, Number.MAX_SAFE_INTEGER) });
    if (pets.length === 0) break;
    const rows = pets.flatMap(pet => Array.from(wordsOf(pet, described).keys(), word => [word, pet.id] as const));
    words += rows.length;
    const { found } = (await reader.first(countFound, { rows: JSON.stringify(rows) }))!;
    if (found < rows.length) {
      const missing = await reader.all(missingPets, { rows: JSON.stringify(rows) });
      findings.push(...missing.map(({ id }) => ({ finding: `Animal ${id} has words that the index lacks.` })));
    }
    after = pets.at(-1)!.id;
  }
  if (findings.length > 0 || !isComplete) return findings.slice(0, most);
  const { stored } = (await reader.first(countStored, {}))!;
  if (stored === words) return [];
  return [{ finding: `The index has ${stored} words of animals, and the animals have ${words}.` }];
}

const petsAfter = query((db, p: Params<{ after: number; upTo: number }>) =>
  db
    .selectFrom('pets')
    .select(['id', 'name', 'breeds', 'colors', 'tags', 'description'])
    .where('id', '>', p.after)
    .where('id', '<=', p.upTo)
    .orderBy('id')
    .limit(PETS_AT_ONCE),
);

/** The pairs of words and ids of a JSON array. */
const pairs = (rows: unknown, engine: Reader['engine']) =>
  engine === 'sqlite'
    ? sql`(select value ->> 0 as word, value ->> 1 as id from json_each(${rows})) as wanted`
    : sql`(select (value ->> 0) collate "C" as word, (value ->> 1)::bigint as id
           from json_array_elements(cast(${rows} as json))) as wanted`;

const isIndexed = sql`exists (select 1 from pet_words where pet_words.word = wanted.word and pet_id = wanted.id)`;

const countFound = query((db, p: Params<{ rows: string }>, engine) =>
  db.selectNoFrom(sql<number>`(select count(*) from ${pairs(p.rows, engine)} where ${isIndexed})`.as('found')),
);

const missingPets = query((db, p: Params<{ rows: string }>, engine) =>
  db
    .selectFrom(
      sql<{ id: number }>`(select distinct wanted.id from ${pairs(p.rows, engine)} where not ${isIndexed})`.as(
        'missing',
      ),
    )
    .select('id')
    .orderBy('id'),
);

const countStored = query(db => db.selectFrom('pet_words').select(eb => eb.fn.countAll<number>().as('stored')));
