import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileVariable, settings } from '../../src/model/settings.ts';
import { assertCommand, deployFiles } from './files.ts';

/** Returns the first group of every match in the files of `deploy/`. */
function mentions(pattern: RegExp): string[] {
  return [...deployFiles.values()].flatMap(text => Array.from(text.matchAll(pattern), ([, found]) => found!));
}

describe('the files of deploy/', () => {
  it('name only settings that exist', () => {
    const known = settings.flatMap(setting => [setting.name, ...(setting.isSecret ? [fileVariable(setting)] : [])]);
    const named = mentions(/\b(PETSTORE_[A-Z_]+)\b/g);
    assert.ok(named.length > 10);
    assert.deepEqual(
      named.filter(name => !(known as string[]).includes(name)),
      [],
    );
  });

  it('run only commands and options that exist', async () => {
    const lines = mentions(/bin\/petstore ([a-z][^\n]*)/g);
    assert.ok(lines.length >= 2);
    for (const line of lines) await assertCommand(line.split(' '));
  });
});
