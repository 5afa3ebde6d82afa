/** What the recorder wrote, read back: a list of things that happened, in their order. */
export type Happening =
  | { readonly op: 'opened'; readonly inode: bigint; readonly path: string; readonly isDirectory: boolean }
  | { readonly op: 'written'; readonly inode: bigint; readonly offset: number; readonly data: Buffer }
  | { readonly op: 'truncated'; readonly inode: bigint; readonly size: number }
  | {
      readonly op: 'flush began' | 'flush ended';
      readonly inode: bigint;
      readonly thread: number;
      readonly ok: boolean;
    }
  | { readonly op: 'deleted'; readonly path: string }
  | { readonly op: 'noted'; readonly note: Note };

/** What the load was told or shown. A reader's `looked` counts from its `look` on: it was on disk by then. */
export interface Note {
  readonly serving?: number;
  readonly role?: string;
  readonly ending?: number;
  readonly look?: string;
  readonly looked?: string;
  readonly rows?: readonly (readonly [id: number, name: string])[];
  readonly total?: number;
}

const HEAD_BYTES = 32;

/** Reads the recorder's file. */
export function happeningsOf(log: Buffer): Happening[] {
  const happenings: Happening[] = [];
  for (let at = 0; at < log.length; ) {
    const op = log.readUInt32LE(at);
    const thread = log.readUInt32LE(at + 4);
    const inode = log.readBigUInt64LE(at + 8);
    const offset = Number(log.readBigUInt64LE(at + 16));
    const ok = log.readInt32LE(at + 24) === 0;
    const data = log.subarray(at + HEAD_BYTES, at + HEAD_BYTES + log.readUInt32LE(at + 28));
    at += HEAD_BYTES + data.length;
    if (op === 1) happenings.push({ op: 'opened', inode, path: data.toString(), isDirectory: offset === 1 });
    if (op === 2) happenings.push({ op: 'written', inode, offset, data });
    if (op === 3) happenings.push({ op: 'truncated', inode, size: offset });
    if (op === 4 || op === 5) happenings.push({ op: op === 4 ? 'flush began' : 'flush ended', inode, thread, ok });
    if (op === 6) happenings.push({ op: 'deleted', path: data.toString() });
    if (op === 7) happenings.push({ op: 'noted', note: JSON.parse(data.toString()) });
  }
  return happenings;
}

/** A change to a file that is not known to be on disk. */
type Change = { readonly at: number } & (
  | { readonly offset: number; readonly data: Buffer; readonly size?: never }
  | { readonly size: number; readonly offset?: never }
);

/** A file: what is on disk for certain, and what may or may not be. */
interface DiskFile {
  readonly content: Content;
  pending: Change[];
}

/** What a path leads to: for certain, and after each change of the directory that may or may not be on disk. */
interface Entry {
  known: DiskFile | undefined;
  pending: { readonly at: number; readonly file: DiskFile | undefined }[];
}

const SECTOR = 512;

/** A disk on which happenings are replayed, and which can lose power after any of them. */
export class Disk {
  readonly #random: () => number;
  readonly #entries = new Map<string, Entry>();
  readonly #files = new Map<bigint, DiskFile>();
  readonly #directories = new Set<bigint>();
  /** By file and thread: when the flush began that is under way. */
  readonly #flushes = new Map<string, number>();
  #at = 0;

  /** @param random numbers from 0 to 1, by which the fate of each unflushed change is chosen */
  constructor(random: () => number) {
    this.#random = random;
  }

  happen(happening: Happening): void {
    const at = this.#at++;
    switch (happening.op) {
      case 'opened': {
        if (happening.isDirectory) this.#directories.add(happening.inode);
        else this.#open(happening.path, happening.inode, at);
        break;
      }
      case 'written':
        this.#files.get(happening.inode)!.pending.push({ at, offset: happening.offset, data: happening.data });
        break;
      case 'truncated':
        this.#files.get(happening.inode)!.pending.push({ at, size: happening.size });
        break;
      case 'deleted':
        this.#entries.get(happening.path)?.pending.push({ at, file: undefined });
        break;
      case 'flush began':
        this.#flushes.set(`${happening.inode} ${happening.thread}`, at);
        break;
      case 'flush ended': {
        const began = this.#flushes.get(`${happening.inode} ${happening.thread}`);
        if (happening.ok && began !== undefined) this.#flushed(happening.inode, began);
      }
    }
  }

  /** The files as they may be found after a power cut now: path → content. */
  cut(): Map<string, Buffer> {
    const found = new Map<string, Buffer>();
    for (const [path, { known, pending }] of this.#entries) {
      const file = pick([known, ...pending.map(({ file }) => file)], this.#random);
      if (file === undefined) continue;
      const content = file.content.copy();
      for (const change of pick(fates, this.#random)(file.pending, this.#random)) content.apply(change);
      found.set(path, content.bytes());
    }
    return found;
  }

  #open(path: string, inode: bigint, at: number): void {
    const entry = this.#entries.get(path) ?? { known: undefined, pending: [] };
    this.#entries.set(path, entry);
    const current = entry.pending.length > 0 ? entry.pending.at(-1)!.file : entry.known;
    if (current !== undefined && this.#files.get(inode) === current) return;
    const file: DiskFile = { content: new Content(), pending: [] };
    this.#files.set(inode, file);
    entry.pending.push({ at, file });
  }

  #flushed(inode: bigint, began: number): void {
    if (this.#directories.has(inode)) {
      for (const entry of this.#entries.values()) {
        const last = entry.pending.findLast(({ at }) => at < began);
        if (last !== undefined) entry.known = last.file;
        entry.pending = entry.pending.filter(({ at }) => at > began);
      }
      return;
    }
    const file = this.#files.get(inode)!;
    for (const change of file.pending) if (change.at < began) file.content.apply(change);
    file.pending = file.pending.filter(({ at }) => at > began);
  }
}

/** What a power cut may do to changes that were not flushed: those that arrive, in the order in which they stay. */
type Fate = (pending: readonly Change[], random: () => number) => readonly Change[];

const fates: readonly Fate[] = [
  // None arrived; all did.
  () => [],
  pending => pending,
  // The newer ones arrived and the older did not; the other way round.
  (pending, random) => pending.slice(Math.floor(random() * pending.length)),
  (pending, random) => pending.slice(0, Math.floor(random() * pending.length)),
  // The file's beginning did not arrive; no change of its length did.
  pending => pending.filter(({ offset }) => offset !== 0),
  pending => pending.filter(({ size }) => size === undefined),
  // Each by chance, whole.
  byChance(0.1),
  byChance(0.5),
  byChance(0.9),
  // Each sector of each by chance, so that writes are torn, and older ones stay where newer ones did not arrive.
  torn(0.2),
  torn(0.5),
  torn(0.95),
];

function byChance(share: number): Fate {
  return (pending, random) => pending.filter(() => random() < share);
}

function torn(share: number): Fate {
  return (pending, random) => pending.flatMap(sectors).filter(() => random() < share);
}

/** A write cut where the disk's sectors meet. */
function sectors(change: Change): Change[] {
  if (change.size !== undefined) return [change];
  const { at, offset, data } = change;
  const pieces: Change[] = [];
  for (let from = 0; from < data.length; ) {
    const to = Math.min(data.length, from + SECTOR - ((offset + from) % SECTOR));
    pieces.push({ at, offset: offset + from, data: data.subarray(from, to) });
    from = to;
  }
  return pieces;
}

/** The bytes of a file, which grow. */
class Content {
  #bytes = Buffer.alloc(0);
  #length = 0;

  apply(change: Change): void {
    if (change.size !== undefined) {
      this.#resize(change.size);
      return;
    }
    this.#resize(Math.max(this.#length, change.offset + change.data.length));
    change.data.copy(this.#bytes, change.offset);
  }

  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  copy(): Content {
    const copy = new Content();
    copy.#bytes = Buffer.from(this.bytes());
    copy.#length = this.#length;
    return copy;
  }

  #resize(length: number): void {
    if (length > this.#bytes.length) this.#bytes = Buffer.concat([this.bytes()], 2 * length);
    if (length < this.#length) this.#bytes.fill(0, length, this.#length);
    this.#length = length;
  }
}

/** One of several, by chance. */
export function pick<T>(choices: readonly T[], random: () => number): T {
  return choices[Math.floor(random() * choices.length)]!;
}

/** Numbers from 0 to 1 that a seed determines (Mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
