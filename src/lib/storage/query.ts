import {
  type Compilable,
  DummyDriver,
  type Expression,
  type InsertQueryBuilder,
  type InsertResult,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RootOperationNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
  type TableNode,
} from 'kysely';

/** Raw SQL, for expressions that the builder lacks. */
export { sql };

/** The two storage engines. */
export type EngineName = 'sqlite' | 'postgres';

/** The query builder: Kysely without a connection. */
export type Builder<Tables> = Kysely<Tables>;

/** Named parameters of a query: `p.id` becomes the `id` given to each run. */
export type Params<P> = { readonly [Name in keyof P]: Expression<P[Name]> };

/** A query that is compiled once per engine. P is the type of its parameters, R of its rows. Define queries as constants. */
export interface Query<P, R> {
  /** Identifies the prepared statement on each connection. */
  readonly id: number;
  compiledFor(engine: EngineName): CompiledQuery<P>;
  /** Carries the type of the rows; never set. */
  readonly row?: R;
}

/** A query in one engine's SQL. */
export interface CompiledQuery<P> {
  readonly sql: string;
  /** The table that it inserts into, updates or deletes from; `undefined` for reads. */
  readonly changedTable: string | undefined;
  /** Every identifier in the SQL, table names included. */
  readonly words: ReadonlySet<string>;
  /** Returns the positional values for one run. */
  values(params: P): unknown[];
}

/** Returns a subquery with the numbers of a JSON array parameter as its rows. */
export function selectJsonNumbers(json: Expression<string>, engine: EngineName) {
  return engine === 'postgres'
    ? sql<number>`(select value::bigint from json_array_elements_text(${json}::json))`
    : sql<number>`(select value from json_each(${json}))`;
}

/** Returns a subquery with the texts of a JSON array parameter as its rows. */
export function selectJsonTexts<Text extends string = string>(json: Expression<string>, engine: EngineName) {
  return engine === 'postgres'
    ? sql<Text>`(select value from json_array_elements_text(${json}::json))`
    : sql<Text>`(select value from json_each(${json}))`;
}

/** Returns a condition: the text is in a parameter that is a JSON array of texts. It does not join the array to the query. */
export function amongTexts(text: Expression<string>, json: Expression<string>, engine: EngineName) {
  const texts = selectJsonTexts(json, engine);
  return engine === 'postgres' ? sql<boolean>`${text} = any (array${texts})` : sql<boolean>`${text} in ${texts}`;
}

/**
 * Completes a query for `Transaction.insert`. PostgreSQL needs a clause to return the id of the new row; SQLite reports the id
 * without one, in two thirds of the time.
 */
export function insertingOne<Tables, Table extends keyof Tables & string>(
  insert: InsertQueryBuilder<Tables, Table, InsertResult>,
  engine: EngineName,
): Compilable<{ id: number }> {
  return (engine === 'postgres' ? insert.returning(sql<number>`id`.as('id')) : insert) as Compilable<{ id: number }>;
}

/** Marks the position of a named parameter in a compiled query. */
class Placeholder {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

const placeholders = new Proxy({}, { get: (_, name) => sql.val(new Placeholder(String(name))) });

const builders = {
  sqlite: new Kysely<unknown>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: db => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  }),
  postgres: new Kysely<unknown>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: db => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  }),
};

let queries = 0;

/**
 * Returns the function that defines queries over `Tables`.
 *
 * @example
 * const petById = query((db, p: Params<{ id: number }>) => db.selectFrom('pets').select('name').where('id', '=', p.id));
 * await database.first(petById, { id: 7 }); // select "name" from "pets" where "id" = ?
 */
export function createQueryFactory<Tables>() {
  return function query<P, R>(
    build: (db: Builder<Tables>, p: Params<P>, engine: EngineName) => Compilable<R>,
  ): Query<P, R> {
    const compiled: Partial<Record<EngineName, CompiledQuery<P>>> = {};
    return {
      id: queries++,
      compiledFor(engine) {
        compiled[engine] ??= compile(
          build(builders[engine] as unknown as Kysely<Tables>, placeholders as Params<P>, engine),
        );
        return compiled[engine];
      },
    };
  };
}

function compile<P, R>(built: Compilable<R>): CompiledQuery<P> {
  const { sql, parameters, query } = built.compile();
  const count = parameters.length;
  const names = parameters.map(value => (value instanceof Placeholder ? (value.name as keyof P) : undefined));
  return {
    sql,
    changedTable: tableChangedBy(query),
    words: new Set(sql.match(/\w+/g)),
    values(params) {
      const values = new Array<unknown>(count);
      for (let index = 0; index < count; index++) {
        const name = names[index];
        values[index] = name === undefined ? parameters[index] : params[name];
      }
      return values;
    },
  };
}

function tableChangedBy(node: RootOperationNode): string | undefined {
  const table =
    node.kind === 'InsertQueryNode'
      ? node.into
      : node.kind === 'UpdateQueryNode'
        ? node.table
        : node.kind === 'DeleteQueryNode'
          ? node.from.froms[0]
          : undefined;
  return table?.kind === 'TableNode' ? (table as TableNode).table.identifier.name : undefined;
}
