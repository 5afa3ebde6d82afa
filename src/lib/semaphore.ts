/** A place that was asked for. */
export interface Place {
  /** Settles when the place is there; left out where it was there at once. */
  readonly ready?: Promise<void>;
  /** Gives the place back, or up while it is waited for. Another call does nothing. */
  leave(): void;
}

/** Places that are given to at most so many at a time, of one kind and in all. */
export interface Semaphore {
  take(kind: string): Place;
}

/**
 * Opens places. Who waits of one kind is served in order; kinds that wait for the last places take turns, so that no kind
 * waits for all of another.
 */
export function openPlaces({ ofEach, inAll }: { readonly ofEach: number; readonly inAll: number }): Semaphore {
  let taken = 0;
  const kinds = new Map<string, { taken: number; readonly waiting: Set<() => void> }>();
  /** Kinds that wait and have fewer places than they may, the next one first. */
  const turns = new Set<string>();

  function kindOf(name: string) {
    const kind = kinds.get(name) ?? { taken: 0, waiting: new Set() };
    kinds.set(name, kind);
    return kind;
  }

  function look(name: string): void {
    const { taken, waiting } = kindOf(name);
    if (waiting.size > 0 && taken < ofEach) turns.add(name);
    else turns.delete(name);
    if (waiting.size === 0 && taken === 0) kinds.delete(name);
  }

  function give(): void {
    for (const name of turns) {
      if (taken >= inAll) return;
      const kind = kindOf(name);
      const [next] = kind.waiting;
      kind.waiting.delete(next!);
      kind.taken++;
      taken++;
      // To the end of the turns, where it still has one.
      turns.delete(name);
      look(name);
      next!();
    }
  }

  return {
    take(name) {
      const kind = kindOf(name);
      let has = taken < inAll && kind.taken < ofEach && kind.waiting.size === 0;
      let left = false;
      let start = () => {};
      const ready = has ? undefined : new Promise<void>(resolve => (start = resolve));
      const begin = () => {
        has = true;
        start();
      };
      if (has) {
        kind.taken++;
        taken++;
      } else {
        kind.waiting.add(begin);
        look(name);
      }
      return {
        ...(ready && { ready }),
        leave() {
          if (left) return;
          left = true;
          if (has) {
            kind.taken--;
            taken--;
          } else {
            kind.waiting.delete(begin);
          }
          look(name);
          give();
        },
      };
    },
  };
}
