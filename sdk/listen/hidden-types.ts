import { UsageError } from '../../src/cli/command.ts';
import { suggestion } from '../../src/lib/suggestion.ts';
import { type EventFilter, type PetStore, PetstoreError } from '../src/index.ts';
import { eventKinds } from './event-kinds.ts';

/** A kind of events, and the scope that its events need besides `events:read`. */
interface EventKind {
  readonly name: string;
  readonly types: readonly string[];
  readonly scope?: string | undefined;
  /** The path of an operation that needs the same scope. */
  readonly probe?: string | undefined;
}

const kinds: readonly EventKind[] = eventKinds
  .trim()
  .split('\n')
  .map(line => {
    const [name, actions, scope, probe] = line.split(' ') as [string, string, string?, string?];
    return { name, types: [`${name}.*`, ...actions.split(',').map(action => `${name}.${action}`)], scope, probe };
  });

/** Parses event types that are separated by commas. @throws {UsageError} */
export function readTypes(text: string): EventFilter[] {
  const types = text.split(',').map(type => type.trim());
  const known = kinds.flatMap(kind => kind.types);
  const unknown = types.find(type => !known.includes(type));
  if (unknown === undefined) return types as EventFilter[];
  throw new UsageError(`There is no event type ${JSON.stringify(unknown)}${suggestion(unknown, known)}`);
}

/**
 * Returns the event types that the scopes of the key hide, with these scopes; '' if there are none. A key does not show its
 * scopes: an operation that needs the same one is called.
 * @param types limits the result to these types
 * @throws {PetstoreError} for a key that cannot read events
 */
export async function hiddenTypes(
  store: PetStore,
  types: readonly EventFilter[] | undefined,
  signal: AbortSignal,
): Promise<string> {
  const call = (path: string) => store.request('GET', path, { query: { limit: 1 }, signal });
  await call('/events');
  const wanted = kinds.flatMap(({ name, types: all, scope, probe }) => {
    const names = types?.filter(type => all.includes(type)) ?? [`${name}.*`];
    return names.length > 0 && scope && probe ? [{ scope, probe, names }] : [];
  });
  const scopes = [...new Set(wanted.map(({ scope }) => scope))];
  const missing = await Promise.all(
    scopes.map(async scope => {
      const of = wanted.filter(one => one.scope === scope);
      const isMissing = await call(of[0]!.probe).then(() => false, lacksScope);
      return isMissing ? [`${of.flatMap(({ names }) => names).join(', ')} (${scope})`] : [];
    }),
  );
  return missing.flat().join('; ');
}

/** Reports whether a call failed because the key lacks the scope. @throws {PetstoreError} unless it was refused */
function lacksScope(error: unknown): boolean {
  if (error instanceof PetstoreError && error.status === 403) return error.code === 'insufficient_scope';
  throw error;
}
