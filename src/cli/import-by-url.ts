import { registerHooks } from 'node:module';

/**
 * Resolves relative imports from now on by their URL alone. Node would also look for symbolic links and for the
 * `package.json` of each folder above, which takes a fifth of a start.
 */
export function importByUrl(): void {
  registerHooks({
    resolve(specifier, context, nextResolve) {
      if (specifier.startsWith('node:')) return { url: specifier, format: 'builtin', shortCircuit: true };
      // `require` completes file names, so it needs Node's own resolution.
      if (!specifier.startsWith('.') || !context.conditions.includes('import')) return nextResolve(specifier, context);
      const url = new URL(specifier, context.parentURL).href;
      return { url, format: url.endsWith('.ts') ? 'module-typescript' : undefined, shortCircuit: true };
    },
  });
}
