import {
  type Compilable,
  DummyDriver,
  type Expression,
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

/** SQL where the builder has no word for it. */
export { sql };

/** Which of the two engines runs a query. */
export type EngineName = 'sqlite' | 'postgres';

/** The builder that queries are written with: Kysely, without a connection of its own. */
export type Builder<Tables> = Kysely<Tables>;

/** Named places in a query that are filled at each run: `p.id` stands for the `id` of the parameters. */
export type Params<P> = { readonly [Name in keyof P]: Expression<P[Name]> };

/**
 * A query, written once and compiled once per engine: P are its parameters, R is a row of its answer.
 *
 * Queries are constants of their room; a run costs no building and no parsing.
 */
export interface Query<P, R> {
  /** A small number of its own, by which connections keep the prepared statement. */
  readonly id: number;
  /** The SQL for one engine, and how the parameters of a run become its positional values. */
  compiledFor(engine: EngineName): CompiledQuery<P>;
  /** Carries the row's type; never present at run time. */
  readonly row?: R;
}

/** A query as one engine takes it. */
export interface CompiledQuery<P> {
  readonly sql: string;
  /** The table whose rows it changes; `undefined` where it only reads. */
  readonly changedTable: string | undefined;
  /** The positional values of one run. */
  values(params: P): unknown[];
}

/** The numbers in a parameter that is a JSON array, as the rows of a subquery. */
export function selectJsonNumbers(json: Expression<string>, engine: EngineName) {
  return engine === 'postgres'
    ? sql<number>`(select value::bigint from json_array_elements_text(${json}::json))`
    : sql<number>`(select value from json_each(${json}))`;
}

/** The texts in a parameter that is a JSON array, as the rows of a subquery. */
export function selectJsonTexts<Text extends string = string>(json: Expression<string>, engine: EngineName) {
  return engine === 'postgres'
    ? sql<Text>`(select value from json_array_elements_text(${json}::json))`
    : sql<Text>`(select value from json_each(${json}))`;
}

/** Reports whether a text is in a parameter that is a JSON array of texts, without joining the array to the query. */
export function amongTexts(text: Expression<string>, json: Expression<string>, engine: EngineName) {
  const texts = selectJsonTexts(json, engine);
  return engine === 'postgres' ? sql<boolean>`${text} = any (array${texts})` : sql<boolean>`${text} in ${texts}`;
}

/** Stands in the compiled query where a parameter goes. */
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
 * The function by which rooms define their queries over `Tables`.
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
  return {
    sql,
    changedTable: tableChangedBy(query),
    values: params => parameters.map(value => (value instanceof Placeholder ? params[value.name as keyof P] : value)),
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
