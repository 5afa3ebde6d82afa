import {
  type Compilable,
  type Expression,
  type InsertQueryBuilder,
  type InsertResult,
  Kysely,
  type LimitNode,
  type OperationNode,
  PostgresDialect,
  type RootOperationNode,
  SqliteDialect,
  SqliteQueryCompiler,
  sql,
  TableNode,
  ValueNode,
} from 'kysely';

/** Raw SQL, for expressions that the builder lacks. */
export { sql };

/** The two storage engines. */
export type EngineName = 'sqlite' | 'postgres';

/** The query builder: Kysely without a connection. */
export type Builder<Tables> = Kysely<Tables>;

/** Named parameters of a query: `p.id` becomes the `id` given to each run. */
export type Params<P> = { readonly [Name in keyof P]: Expression<P[Name]> };

/**
 * A query that is compiled once per engine. P is the type of its parameters, R of its rows. Define queries as
 * constants.
 */
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

/** Returns the condition that a number is in a JSON array parameter, without joining the array to the query. */
export function amongNumbers(number: Expression<number>, json: Expression<string>, engine: EngineName) {
  return among(number, selectJsonNumbers(json, engine), engine);
}

/** Returns the condition that a text is in a JSON array parameter, without joining the array to the query. */
export function amongTexts(text: Expression<string>, json: Expression<string>, engine: EngineName) {
  return among(text, selectJsonTexts(json, engine), engine);
}

function among<Value>(value: Expression<Value>, values: Expression<Value>, engine: EngineName) {
  return engine === 'postgres' ? sql<boolean>`${value} = any (array${values})` : sql<boolean>`${value} in ${values}`;
}

/**
 * Completes a query for `Transaction.insert`. On SQLite, it omits RETURNING: SQLite reports the new id anyway, in two
 * thirds of the time.
 */
export function insertingOne<Tables, Table extends keyof Tables & string>(
  insert: InsertQueryBuilder<Tables, Table, InsertResult>,
  engine: EngineName,
): Compilable<{ id: number }> {
  return (engine === 'postgres' ? insert.returning(sql<number>`id`.as('id')) : insert) as Compilable<{ id: number }>;
}

/** Returns the column of an id that `Transaction.newId` returned, for the values of `insertingOne`. */
export function newIdColumn(id: Expression<number | undefined>, engine: EngineName) {
  return engine === 'postgres' ? { id: id as Expression<number> } : {};
}

/** Marks the position of a named parameter in a compiled query. */
class Placeholder {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

const placeholders = new Proxy({}, { get: (_, name) => sql.val(new Placeholder(String(name))) });

/**
 * Writes parameters so that SQLite prepares a query once. Its planner uses the values of some parameters, such as that
 * of a limit, and then prepares the query again for each run: the driver clears all values after a run. This takes
 * longer than most queries. The planner ignores a value after a plus sign, which does not change it.
 */
class SqliteCompiler extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return '+?';
  }

  protected override visitLimit(node: LimitNode): void {
    const { limit } = node;
    if (ValueNode.is(limit) && typeof limit.value === 'number') this.append(`limit ${limit.value}`);
    else super.visitLimit(node);
  }
}

class Sqlite extends SqliteDialect {
  override createQueryCompiler(): SqliteCompiler {
    return new SqliteCompiler();
  }
}

/** The builders only compile queries: the engines' own connections run them. */
const noConnection = () => Promise.reject(new Error('The query builder has no connection.'));

const builders = {
  sqlite: new Kysely<unknown>({ dialect: new Sqlite({ database: noConnection }) }),
  postgres: new Kysely<unknown>({ dialect: new PostgresDialect({ pool: noConnection }) }),
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

const combined = new Map<string, Query<readonly never[], unknown>>();

/**
 * Returns the query that runs several writes on PostgreSQL in one round trip; its parameters are theirs, in order. No
 * write sees the rows of another one. They run from the last one to the first. Counts as a change of the first write's
 * table.
 */
export function inOneStatement<P>(all: readonly Query<P, unknown>[]): Query<readonly P[], unknown> {
  return combined.getOrInsertComputed(all.map(({ id }) => id).join(' '), () => {
    const parts = all.map(query => query.compiledFor('postgres'));
    let parameters = 0;
    const steps = parts.map(({ sql }, index) => {
      const text = sql.replace(/\$\d+/g, () => `$${++parameters}`);
      return `step_${index} as (${text})`;
    });
    const compiled: CompiledQuery<readonly P[]> = {
      sql: `with ${steps.join(', ')} select`,
      changedTable: parts[0]!.changedTable,
      words: new Set(parts.flatMap(({ words }) => [...words])),
      values: params => parts.flatMap(({ values }, index) => values(params[index]!)),
    };
    return { id: queries++, compiledFor: () => compiled };
  });
}

function tableChangedBy(query: RootOperationNode): string | undefined {
  let table: OperationNode | undefined;
  if (query.kind === 'InsertQueryNode') table = query.into;
  else if (query.kind === 'UpdateQueryNode') table = query.table;
  else if (query.kind === 'DeleteQueryNode') table = query.from.froms[0];
  return table !== undefined && TableNode.is(table) ? table.table.identifier.name : undefined;
}
