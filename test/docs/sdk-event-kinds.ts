import { nounEvents } from '../../src/model/nouns.ts';
import { routes } from '../../src/views/api.ts';

/** Returns the text of `sdk/listen/event-kinds.ts`: the event types, and what a key needs to see them. */
export function eventKindsFile(): string {
  const lines = Object.entries(nounEvents).map(([kind, { actions, scopes }]) => {
    const scope = scopes.includes('events:read') ? undefined : scopes[0]!;
    const words = [kind, Object.keys(actions).join(','), ...(scope ? [scope, probeOf(scope)] : [])];
    return `${words.join(' ')}\n`;
  });
  return `// Generated from the routes by \`npm run docs\`. Do not edit.

/**
 * Each kind of events with its actions and, if \`events:read\` is not enough to see them, the scope that a key needs and
 * an operation that needs the same scope.
 */
export const eventKinds = \`
${lines.join('')}\`;
`;
}

/** Returns the path of an operation that a key with a scope may call. */
function probeOf(scope: string): string {
  return routes.find(({ method, path, access }) => method === 'GET' && !path.includes('{') && access.scope === scope)!
    .path;
}
