/** The rows of a statement. `rowCount` is the number of rows that it returned or changed. */
export interface QueryResult {
  // biome-ignore lint/suspicious/noExplicitAny: the statement determines the type of the rows
  readonly rows: any[];
  readonly rowCount: number | null;
}

/** A statement that a connection has prepared, or prepares when it first runs. */
export class PreparedStatement {
  /** Its name on the server; empty for a statement that runs once. */
  readonly name: string;
  isParsed = false;
  /** Known once it has run: the server describes them only then. */
  columns: readonly Column[] | undefined;

  constructor(name = '') {
    this.name = name;
  }
}

interface Column {
  readonly name: string;
  readonly parse: (text: string) => unknown;
}

export interface Statement {
  readonly prepared: PreparedStatement;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** What a batch uses of the driver's connection. Each method writes one message of the protocol. */
export interface Wire {
  readonly stream: { cork(): void; uncork(): void };
  parse(message: { name: string; text: string }): void;
  bind(message: { statement: string; values: readonly (string | Buffer | null)[] }): void;
  describe(message: { type: 'P' }): void;
  execute(): void;
  close(message: { type: 'S'; name: string }): void;
  sync(): void;
}

/** Returns the function that parses the values of a type, in the text format. */
export type TypeParser = (oid: number) => (text: string) => unknown;

/**
 * Statements that one write sends and one message of the server answers. The server runs them in order, and none after
 * one that fails. The driver calls the methods.
 */
export class StatementBatch {
  /** The results so far: of all statements before the first one that failed. */
  readonly results: QueryResult[] = [];
  readonly #statements: readonly Statement[];
  readonly #closed: readonly string[];
  readonly #parserOf: TypeParser;
  readonly #onEnd: (error?: Error) => void;
  #rows: Record<string, unknown>[] = [];

  /**
   * @param closed the names of prepared statements that are no longer needed
   * @param onEnd called once all statements have run, or with the error of the first one that failed
   */
  constructor(
    statements: readonly Statement[],
    closed: readonly string[],
    parserOf: TypeParser,
    onEnd: (error?: Error) => void,
  ) {
    this.#statements = statements;
    this.#closed = closed;
    this.#parserOf = parserOf;
    this.#onEnd = onEnd;
  }

  submit(wire: Wire): null {
    const sent = this.#statements.map(({ values }) => values.map(valueOnWire));
    const parsed = new Set<PreparedStatement>();
    wire.stream.cork();
    for (const name of this.#closed) wire.close({ type: 'S', name });
    for (const [index, { prepared, text }] of this.#statements.entries()) {
      const { name } = prepared;
      const isFirst = !parsed.has(prepared);
      if (isFirst && !prepared.isParsed) wire.parse({ name, text });
      wire.bind({ statement: name, values: sent[index]! });
      if (isFirst && prepared.columns === undefined) wire.describe({ type: 'P' });
      wire.execute();
      if (isFirst) parsed.add(prepared);
    }
    wire.sync();
    wire.stream.uncork();
    return null;
  }

  handleParseComplete(): void {
    this.#current.isParsed = true;
  }

  handleRowDescription({ fields }: { readonly fields: readonly { name: string; dataTypeID: number }[] }): void {
    this.#current.columns = fields.map(({ name, dataTypeID }) => ({ name, parse: this.#parserOf(dataTypeID) }));
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const columns = this.#current.columns!;
    const row: Record<string, unknown> = {};
    for (let index = 0; index < columns.length; index++) {
      const { name, parse } = columns[index]!;
      const text = fields[index]!;
      row[name] = text === null ? null : parse(text);
    }
    this.#rows.push(row);
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#current.columns ??= [];
    const count = Number(text.slice(text.lastIndexOf(' ') + 1));
    this.results.push({ rows: this.#rows, rowCount: Number.isNaN(count) ? null : count });
    this.#rows = [];
  }

  handleError(error: Error): void {
    this.#onEnd(error);
  }

  handleReadyForQuery(): void {
    this.#onEnd();
  }

  get #current(): PreparedStatement {
    return this.#statements[this.results.length]!.prepared;
  }
}

/** Returns a value in the text format, or bytes in the binary format. */
function valueOnWire(value: unknown): string | Buffer | null {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return null;
  if (typeof value !== 'object') return String(value);
  if (Buffer.isBuffer(value)) return value;
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return JSON.stringify(value);
}
