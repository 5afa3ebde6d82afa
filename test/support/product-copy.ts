import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const home = new URL('../..', import.meta.url).pathname;

/** An edit of a file: a text that is inserted at the start of the line that begins with `before`. */
export interface Edit {
  readonly file: string;
  readonly before: string;
  readonly text: string;
}

/** Copies the product to a temporary directory, edits files of the copy, and adds others by name. */
export function copyProduct(edits: readonly Edit[], files: Readonly<Record<string, string>> = {}): string {
  const copy = mkdtempSync(join(tmpdir(), 'petstore-copy-'));
  for (const part of ['src', 'sdk', 'test/support', 'package.json', 'tsconfig.json']) {
    cpSync(join(home, part), join(copy, part), { recursive: true, filter: path => !path.endsWith('.test.ts') });
  }
  symlinkSync(join(home, 'node_modules'), join(copy, 'node_modules'));
  for (const { file, before, text } of edits) {
    const old = readFileSync(join(copy, file), 'utf8');
    assert.equal(old.split(`\n${before}`).length, 2, `${file}: where to insert`);
    writeFileSync(
      join(copy, file),
      old.replace(`\n${before}`, () => `\n${text}${before}`),
    );
  }
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    writeFileSync(join(copy, file), text);
  }
  return copy;
}

/** Asserts that the source of a copy compiles, together with a file at its top that uses it. */
export async function assertCompiles(copy: string, uses: string): Promise<void> {
  writeFileSync(join(copy, 'uses.ts'), uses);
  const config = { extends: './tsconfig.json', include: ['uses.ts', 'src/**/*.ts'] };
  writeFileSync(join(copy, 'tsconfig.uses.json'), JSON.stringify(config));
  const tsc = join(home, 'node_modules/.bin/tsc');
  await promisify(execFile)(tsc, ['--noEmit', '-p', join(copy, 'tsconfig.uses.json')]).catch(({ stdout }) =>
    assert.fail(stdout),
  );
}
