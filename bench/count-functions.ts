import { callsOf, countCalls } from '../test/support/call-counts.ts';

/** Prints the named functions of `src/` that one warm request calls: `node bench/count-functions.ts [POST /pets]`. */
const only = process.argv.slice(2).join(' ');

for (const [request, functions] of await countCalls()) {
  if (only !== '' && only !== request) continue;
  if (only !== '') for (const { name, file, calls } of functions) process.stdout.write(`${calls}  ${name}  ${file}\n`);
  process.stdout.write(`${request}: ${functions.length} functions, ${callsOf(functions)} calls\n`);
}
process.exit(0);
