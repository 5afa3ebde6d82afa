import assert from 'node:assert/strict';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { blocksOf, type FirstServer, readPage, skip, startFirstServer } from '../support/pages-as-scripts.ts';

/** The pages that begin, or continue, with a script that follows page links, and the file with its position. */
const scripts = [
  { path: 'docs/sync.md', position: 'token.txt' },
  { path: 'docs/events.md', position: 'after.txt' },
  { path: 'docs/pagination.md', position: undefined },
] as const;

for (const { path, position } of scripts) {
  describe(`the script of ${path} that follows page links`, { skip }, async () => {
    const page = await readPage(path);
    const script = blocksOf(page).find(({ text }) => text.includes('while [ -n "$url" ]'))!.text;
    let server: FirstServer;
    before(async () => {
      server = await startFirstServer();
    });
    after(async () => {
      assert.deepEqual(await server.stop(), [0, null]);
    });

    /** Runs the script as a file, so that only the script itself decides what happens after a failed command. */
    const run = (source: string, key = '') =>
      server.run(`cat > script.sh <<'END'\n${source}\nEND\n${key && `KEY=${key} `}sh script.sh`);
    const fails = (source: string) => run(source, 'wrong');

    test('fails at the first page and saves no position', async () => {
      await assert.rejects(fails(script), { code: 22 });
      if (position !== undefined) await assert.rejects(access(join(server.directory, position)));
    });

    test('keeps the saved position if a later run fails', async () => {
      await run(script);
      if (position === undefined) return;
      const file = join(server.directory, position);
      const saved = await readFile(file, 'utf8');
      assert.match(saved, /\S/);
      await assert.rejects(fails(script), { code: 22 });
      assert.equal(await readFile(file, 'utf8'), saved);
    });

    test('fails at a later page', async () => {
      // `curl` of this shell fails from its second call on.
      const broken = 'n=0\ncurl() { n=$((n + 1)); [ $n = 1 ] && command curl "$@"; }';
      const small = script.replace('limit=100', 'limit=1').replace('types=order.*&', '');
      await server.run(`rm -f ${position ?? ''}`);
      await assert.rejects(run(`${broken}\n${small}`), { code: 1 });
      if (position !== undefined) await assert.rejects(access(join(server.directory, position)));
    });
  });
}
