import { globSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PARTS } from './selection.ts';

const home = new URL('../../', import.meta.url).pathname;
const directory = new URL('../../node_modules/.cache/test-groups/', import.meta.url);

/** How many test files share a process, by folder: six of a wing. Those of other folders have their own. */
const sizes: Readonly<Record<string, number>> = {
  'test-web': 3,
  'test-http': 4,
  'test-docs': 4,
  'test-contract': 6,
  'test-structure': 6,
};
const WING_SIZE = 6;
/** The folders that take longest. They are first, so that no process works alone at the end of a run. */
const first = ['test-web', 'test-http', 'test-faults', 'test-docs'];
/** The test files that go through all operations, each of them once for every part of the operations. */
const divided = /^test\/contract\/(authorization|every-route|fuzzer)\.test\.ts$/;

export const allPatterns = ['src/**/*.test.ts', 'test/**/*.test.ts'];

/** What a quick run tests, in `src` and `test`: everything that needs no other server, except what takes long. */
export const quickPatterns = ['src/**/*.test.ts', 'test/structure/*.test.ts', 'test/contract/*.test.ts'];

/** The test files that a quick run leaves out: each needs more than three seconds of processor time. */
export const slowFiles = [
  'src/events/deliveries/delivery-job.test.ts',
  'src/events/deliveries/dispatch-ahead.test.ts',
  'src/events/deliveries/fairness.test.ts',
  'src/lib/http/server/server.test.ts',
  'src/lib/storage/sqlite/database.test.ts',
  'src/model/photo-files/encoder.test.ts',
  'src/operate/seeds/staging.test.ts',
  'src/store/imports/import-job.test.ts',
  'src/store/imports/photos/fetch-job.test.ts',
  'src/store/pets/list.test.ts',
  'src/store/photos/count-sizes.test.ts',
  'test/contract/authorization.test.ts',
  'test/contract/every-route.test.ts',
  'test/contract/fuzzer.test.ts',
  'test/contract/openapi.test.ts',
];

/** Test files that share a process, as URLs to import. */
export interface Group {
  readonly folder: string;
  readonly urls: readonly string[];
}

/**
 * Returns the groups of the test files that match, in the order in which they start. Files share a process because each
 * process takes a second to load the product. Test files that kill, measure or fill something keep one of their own.
 */
export function groupsOf(patterns: readonly string[], cwd: string, exclude: readonly string[] = []): Group[] {
  const groups: Group[] = [];
  const files = globSync(patterns, { cwd, exclude }).sort();
  const urlOf = (file: string) => pathToFileURL(join(cwd, file)).href;
  for (const [folder, inFolder] of Map.groupBy(files, file => file.split('/').slice(0, 2).join('-'))) {
    const whole = inFolder.filter(file => !divided.test(file));
    const inParts = inFolder.filter(file => divided.test(file));
    const size = folder.startsWith('src-') ? WING_SIZE : (sizes[folder] ?? 1);
    for (let from = 0; from < whole.length; from += size) {
      groups.push({ folder, urls: whole.slice(from, from + size).map(urlOf) });
    }
    for (let part = 0; part < PARTS && inParts.length > 0; part++) {
      const chosen = `data:text/javascript,process.env.PETSTORE_TEST_PART=${part}`;
      groups.push({ folder, urls: [chosen, ...inParts.map(urlOf)] });
    }
  }
  const position = (folder: string) => (first.includes(folder) ? first.indexOf(folder) : first.length);
  return groups.sort((a, b) => position(a.folder) - position(b.folder));
}

// `node test/support/groups.ts [--quick]` writes a file for each group of a run, and prints their names.
if (import.meta.main) {
  mkdirSync(directory, { recursive: true });
  const groups = process.argv[2] === '--quick' ? groupsOf(quickPatterns, home, slowFiles) : groupsOf(allPatterns, home);
  for (const [index, { folder, urls }] of groups.entries()) {
    // The runner starts files in the order of their names.
    const file = new URL(`${String(index + 1).padStart(3, '0')}-${folder}.mjs`, directory);
    writeFileSync(file, urls.map(url => `import '${url}';\n`).join(''));
    process.stdout.write(`${file.pathname}\n`);
  }
}
