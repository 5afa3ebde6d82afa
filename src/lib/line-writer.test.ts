import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { BoundedLineWriter } from './line-writer.ts';

describe('BoundedLineWriter', () => {
  it('writes every line by its end', async t => {
    const directory = mkdtempSync(join(tmpdir(), 'petstore-lines-'));
    t.after(() => rmSync(directory, { recursive: true }));
    const file = join(directory, 'lines');
    const writer = new BoundedLineWriter(openSync(file, 'w'));
    const lines = Array.from({ length: 5000 }, (_, number) => `line ${number}\n`);
    for (const line of lines) writer.write(line);
    await writer.close();
    assert.ok(readFileSync(file, 'utf8') === lines.join(''));
    assert.equal(writer.dropped, 0);
  });

  it('drops lines, and does not wait, while nobody reads', async () => {
    const script = `
      const { BoundedLineWriter } = await import(${JSON.stringify(new URL('./line-writer.ts', import.meta.url).href)});
      const writer = new BoundedLineWriter(1);
      for (let number = 0; number < 3000; number++) writer.write('x'.repeat(999) + '\\n');
      await writer.close();
      process.stderr.write(String(writer.dropped));`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.pause();
    const [dropped] = await once(child.stderr.setEncoding('utf8'), 'data');
    const [code] = await once(child, 'exit');
    assert.equal(code, 0);
    assert.ok(Number(dropped) > 1500 && Number(dropped) < 3000, dropped);
  });
});
