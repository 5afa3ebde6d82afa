import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { it } from 'node:test';

it('the modules of a server do not load the client of WebSocket and fetch', () => {
  const modules = ['../../main/app.ts', '../../cli/commands/serve.ts', './server/metrics-server.ts'];
  const imports = modules.map(module => `await import('${new URL(module, import.meta.url)}');`).join('');
  const script = `${imports} console.log(process.moduleLoadList.filter(name => name.includes('undici')).join());`;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
  assert.equal(output.trim(), '');
});
