import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildSync } from 'esbuild';
import sdk from '../../sdk/package.json' with { type: 'json' };

const root = new URL('../..', import.meta.url).pathname;

/** Returns the files of `sdk/dist` by their paths: one file of JavaScript, and the types of each source file. */
export async function builtSdk(): Promise<Map<string, string>> {
  return new Map([['sdk/dist/petstore.js', bundle()], ...(await declarations())]);
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
