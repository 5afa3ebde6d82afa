import type { CounterTable, Database, Reader, Transaction } from '../../lib/storage/database.ts';
import type { EngineName, Query } from '../../lib/storage/query.ts';
import type { Attributes, NewSpan } from '../../lib/tracing/span.ts';
import type { Tracer } from '../../lib/tracing/tracer.ts';
import { override } from './override.ts';

/** The common properties of the spans of one database. */
type Common = Pick<NewSpan, 'kind'> & { readonly attributes: Attributes };

/**
 * Returns a database that records its reads and transactions, each as a child of the active span. A transaction has a
 * child for the wait until it is on disk, and with PostgreSQL one for each statement: SQLite runs them within
 * microseconds, in the same turn as those of other transactions.
 * @param attributes attributes of all spans
 */
export function traceDatabase(tracer: Tracer, database: Database, attributes: Attributes): Database {
  const system = database.engine === 'sqlite' ? 'sqlite' : 'postgresql';
  const common: Common = {
    kind: database.engine === 'sqlite' ? 'internal' : 'client',
    attributes: { 'db.system.name': system, ...attributes },
  };
  return override(database, {
    ...tracedReader(tracer, database, common),

    async write(work, origin, group) {
      return tracer.measure({ name: 'transaction', ...common }, async span => {
        if (span === undefined) return database.write(work, origin, group);
        let doneMs = 0;
        const done = <T>(value: T) => {
          doneMs = performance.now();
          return value;
        };
        const timed = (tx: Transaction) => {
          const returned = work(database.engine === 'sqlite' ? tx : traceTransaction(tracer, tx, common));
          return returned instanceof Promise ? returned.then(done) : done(returned);
        };
        const result = await database.write(timed, origin, group);
        span.child({ name: 'commit', startMs: doneMs, ...common })?.end();
        return result;
      });
    },
  });
}

function traceTransaction(tracer: Tracer, tx: Transaction, common: Common): Transaction {
  const { engine } = tx;
  const add = ({ table }: CounterTable): NewSpan => ({ name: `UPDATE ${table}`, ...common });
  return override(tx, {
    ...tracedReader(tracer, tx, common),
    run: (query, params) => tracer.measure(statement(query, engine, common), () => tx.run(query, params)),
    queue: (query, params, check) =>
      tracer.measure(statement(query, engine, common), () => tx.queue(query, params, check)),
    insert: (query, params, id) => tracer.measure(statement(query, engine, common), () => tx.insert(query, params, id)),
    incrementAndGet: (counters, key, by) => tracer.measure(add(counters), () => tx.incrementAndGet(counters, key, by)),
  });
}

function tracedReader(tracer: Tracer, reader: Reader, common: Common): Pick<Reader, 'all' | 'first'> {
  const { engine } = reader;
  return {
    all: (query, params) => tracer.measure(statement(query, engine, common), () => reader.all(query, params)),
    first: (query, params) => tracer.measure(statement(query, engine, common), () => reader.first(query, params)),
  };
}

/**
 * The number of characters of a statement in its span, from its beginning and from its end: lists of columns between
 * them are long.
 */
const SQL_HEAD = 200;
const SQL_TAIL = 800;

const statements = new WeakMap<object, { readonly name: string; readonly sql: string }>();

/** Returns the span of a statement: its operation and table, and its text with placeholders for values. */
function statement<P, R>(query: Query<P, R>, engine: EngineName, { kind, attributes }: Common): NewSpan {
  const compiled = query.compiledFor(engine);
  const { name, sql } = statements.getOrInsertComputed(compiled, () => {
    const [operation = ''] = /\w+/.exec(compiled.sql) ?? [];
    const table = compiled.changedTable ?? /\bfrom "(\w+)"/.exec(compiled.sql)?.[1] ?? '';
    return { name: `${operation.toUpperCase()} ${table}`.trim(), sql: shortened(compiled.sql) };
  });
  return { name, kind, attributes: { ...attributes, 'db.query.text': sql } };
}

function shortened(sql: string): string {
  return sql.length <= SQL_HEAD + SQL_TAIL ? sql : `${sql.slice(0, SQL_HEAD)} … ${sql.slice(-SQL_TAIL)}`;
}
