import { createHash, randomInt } from 'node:crypto';
import { type Deployment, nowOf } from '../../access/deployment.ts';
import type { Transaction } from '../../model/schema.ts';
import {
  type ClassicDocument,
  type ClassicSandbox,
  type DocumentKind,
  findDocument,
  listDocuments,
  removeDocument,
  storeDocuments,
} from '../../store/classic/sandboxes.ts';
import { formatJson, parseJson } from './json.ts';
import { type ClassicShape, type Item, order, pet, readItem, user } from './shapes.ts';

const shapeOf: Readonly<Record<DocumentKind, ClassicShape>> = { pet, order, user };

/** The store of the caller of a request. */
export class ClassicStore {
  readonly #deployment: Pick<Deployment, 'database' | 'clock'>;
  readonly #sandbox: ClassicSandbox;

  constructor(deployment: Pick<Deployment, 'database' | 'clock'>, sandbox: ClassicSandbox) {
    this.#deployment = deployment;
    this.#sandbox = sandbox;
  }

  now(): number {
    return nowOf(this.#deployment);
  }

  /** Returns a pet or an order by its id, or a user by its name. */
  async find(kind: DocumentKind, name: bigint | string): Promise<Item | undefined> {
    const key = { kind, id: keyOf(name) };
    const document = await findDocument(this.#deployment.database, this.#sandbox, key, this.now());
    return document === undefined ? undefined : itemOf(kind, document);
  }

  async list(kind: DocumentKind): Promise<Item[]> {
    const documents = await listDocuments(this.#deployment.database, this.#sandbox, kind, this.now());
    return documents.map(document => itemOf(kind, document));
  }

  /** Stores items, in the place of those with the same id or name. */
  async put(kind: DocumentKind, ...items: readonly Item[]): Promise<void> {
    await this.#write(async () => items.map(item => documentOf(kind, item)));
  }

  /** Changes the item with this id or name, and returns it; returns undefined if there is none. */
  async change(kind: DocumentKind, name: bigint | string, change: (item: Item) => Item): Promise<Item | undefined> {
    let changed: Item | undefined;
    await this.#write(async tx => {
      const key = { kind, id: keyOf(name) };
      const document = await findDocument(tx, this.#sandbox, key, tx.now);
      changed = document === undefined ? undefined : change(itemOf(kind, document));
      if (changed === undefined) return undefined;
      await removeDocument(tx, this.#sandbox, key);
      return [documentOf(kind, changed)];
    });
    return changed;
  }

  /** Deletes the item with this id or name. Reports whether it existed. */
  async remove(kind: DocumentKind, name: bigint | string): Promise<boolean> {
    return await this.#deployment.database.write(tx => removeDocument(tx, this.#sandbox, { kind, id: keyOf(name) }));
  }

  #write(change: (tx: Transaction) => Promise<readonly ClassicDocument[] | undefined>): Promise<void> {
    return this.#deployment.database.write(tx => storeDocuments(tx, this.#sandbox, () => change(tx)));
  }
}

/** Returns an id that no caller chose: large, and a number that JavaScript can represent. */
export function newId(): bigint {
  return 9_000_000_000_000_000n + BigInt(randomInt(7_000_000_000_000));
}

function itemOf(kind: DocumentKind, document: string): Item {
  return readItem(shapeOf[kind], parseJson(document));
}

function documentOf(kind: DocumentKind, item: Item): ClassicDocument {
  const name = kind === 'user' ? String(item['username']) : (item['id'] as bigint);
  return { kind, id: keyOf(name), document: formatJson(item) };
}

/** Returns the id of a document: the hash of a name, which can be too long for an index of PostgreSQL or contain NUL. */
function keyOf(name: bigint | string): string {
  return typeof name === 'bigint' ? String(name) : createHash('sha256').update(name).digest('base64url');
}
