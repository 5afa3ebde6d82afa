import { onePerVersion } from '../../lib/one-per.ts';
import { wordsIn } from '../../lib/text.ts';
import { type Database, type Params, query, type Reader, sql } from '../../model/schema.ts';

/** The names of categories, for searches. */
export class CategoryNames {
  readonly #categories: ReadonlyMap<number, Named>;
  readonly #children: ReadonlyMap<number | null, readonly Named[]>;
  /** The categories by each word of their names. */
  readonly #byWord = new Map<string, Named[]>();
  /** The words, sorted by code unit. */
  readonly #words: readonly string[];
  readonly #paths = new Map<number, ReadonlySet<string>>();

  constructor(categories: readonly Named[]) {
    this.#categories = new Map(categories.map(category => [category.id, category]));
    this.#children = Map.groupBy(categories, ({ parentId }) => parentId);
    for (const category of categories) {
      for (const word of category.words) this.#byWord.getOrInsertComputed(word, () => []).push(category);
    }
    this.#words = [...this.#byWord.keys()].sort();
  }

  /** Returns the words of the names of a category and its ancestors. */
  wordsOf(id: number): ReadonlySet<string> {
    let words = this.#paths.get(id);
    if (words === undefined) {
      const category = this.#categories.get(id);
      const above = category?.parentId == null ? [] : this.wordsOf(category.parentId);
      words = new Set([...(category?.words ?? []), ...above]);
      if (category !== undefined) this.#paths.set(id, words);
    }
    return words;
  }

  /** Returns the words of the names of categories whose words are all in a set. */
  wordsAmong(words: ReadonlySet<string>): string[] {
    const some = Array.from(words).flatMap(word => this.#byWord.get(word) ?? []);
    return some.filter(category => category.words.every(one => words.has(one))).flatMap(category => category.words);
  }

  /** Returns the words of all names, each once. */
  allWords(): readonly string[] {
    return this.#words;
  }

  /** Returns the words of names that begin with a text. */
  wordsFrom(text: string): readonly string[] {
    let [from, end] = [0, this.#words.length];
    while (from < end) {
      const middle = (from + end) >> 1;
      if (this.#words[middle]! < text) from = middle + 1;
      else end = middle;
    }
    while (this.#words[end]?.startsWith(text)) end++;
    return this.#words.slice(from, end);
  }

  /** Returns the ids of the categories with one of the words in their name, and of their descendants. */
  idsWith(words: readonly string[]): number[] {
    const ids = new Set<number>();
    const add = (category: Named) => {
      if (ids.has(category.id)) return;
      ids.add(category.id);
      for (const child of this.#children.get(category.id) ?? []) add(child);
    };
    for (const word of words) for (const category of this.#byWord.get(word) ?? []) add(category);
    return [...ids].sort((one, other) => one - other);
  }
}

interface Named {
  readonly id: number;
  readonly parentId: number | null;
  readonly words: readonly string[];
}

/**
 * Returns the names of the first 20,000 categories by id, without placeholders. They are kept in memory until a
 * category changes; on PostgreSQL, changes on other nodes take effect within a second.
 */
export const categoryNames = onePerVersion(
  async (database: Reader & Partial<Pick<Database, 'dataVersion' | 'topicVersion'>>) =>
    database.dataVersion?.('categories') ??
    database.topicVersion?.('categories') ??
    JSON.stringify(await database.first(changes, READ)),
  read,
);

async function read(reader: Reader): Promise<CategoryNames> {
  const rows = await reader.all(namedCategories, READ);
  return new CategoryNames(rows.map(({ id, parentId, name }) => ({ id, parentId, words: wordsIn(name) })));
}

const READ = { most: 20_000 };

type Most = Params<{ most: number }>;

const namedCategories = query((db, p: Most) =>
  db
    .selectFrom(
      db
        .selectFrom('categories')
        .select(['id', 'name', 'parent_id', 'placeholder'])
        .orderBy('id')
        .limit(p.most)
        .as('categories'),
    )
    .select(['id', 'name', 'parent_id as parentId'])
    .where('placeholder', '=', 0),
);

/** Values that differ after any change of one of these categories. */
const changes = query((db, p: Most) =>
  db
    .selectFrom(
      db.selectFrom('categories').select(['id', 'version', 'updated_at']).orderBy('id').limit(p.most).as('categories'),
    )
    .select([
      sql<number>`count(*)`.as('categories'),
      sql<number>`coalesce(sum(id % 1000003), 0)`.as('ids'),
      sql<number>`coalesce(sum(version), 0)`.as('versions'),
      sql<number>`coalesce(max(updated_at), 0)`.as('updatedAt'),
    ]),
);
