import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildSync } from 'esbuild';
import sdk from '../../sdk/package.json' with { type: 'json' };

const root = new URL('../..', import.meta.url).pathname;

/**
 * Returns the files of `sdk/dist` by their paths: one file of JavaScript, and the types of each source file; and the
 * command of the package.
 */
export async function builtSdk(): Promise<Map<string, string>> {
  return new Map([['sdk/dist/petstore.js', bundle()], ...(await declarations()), ['sdk/bin/petstore.js', command()]]);
}

/** Returns the code of the command `petstore` as one file beside the client. */
function command(): string {
  const { outputFiles } = buildSync({
    entryPoints: [join(root, 'sdk/listen/petstore.ts')],
    ...{ bundle: true, write: false, format: 'esm', target: 'node20.3', platform: 'node', charset: 'utf8' },
    ...{ external: ['*/index.ts'], banner: { js: `#!/usr/bin/env node\n// ${sdk.name}. License: Apache-2.0.` } },
  });
  return outputFiles[0]!.text.replaceAll(/from "[^"]*\/index\.ts"/g, 'from "../dist/petstore.js"');
}

/** Returns the code of the SDK as one file. */
export function bundle(options: { readonly minify?: boolean } = {}): string {
  const { outputFiles } = buildSync({
    entryPoints: [join(root, 'sdk/src/index.ts')],
    ...{ bundle: true, write: false, format: 'esm', target: 'es2022', platform: 'neutral', charset: 'utf8' },
    ...(!options.minify && { banner: { js: `// ${sdk.name} ${sdk.version}. License: Apache-2.0.` } }),
    ...options,
  });
  return outputFiles[0]!.text;
}

async function declarations(): Promise<[path: string, text: string][]> {
  const directory = mkdtempSync(join(tmpdir(), 'petstore-sdk-'));
  try {
    const tsc = join(root, 'node_modules/.bin/tsc');
    await promisify(execFile)(tsc, ['-p', join(root, 'sdk'), '--outDir', directory]).catch(({ stdout }) => {
      throw new Error(stdout);
    });
    return readdirSync(directory).map(name => {
      const text = readFileSync(join(directory, name), 'utf8');
      return [`sdk/dist/${name}`, text.replaceAll(/(from '\.\/\w+)\.ts'/g, "$1.js'")];
    });
  } finally {
    rmSync(directory, { recursive: true });
  }
}
