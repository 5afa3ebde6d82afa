import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  type Block,
  blocksOf,
  type FirstServer,
  readPage,
  skip,
  startFirstServer,
} from '../support/pages-as-scripts.ts';
import { image } from '../support/photos.ts';
import { assertDocumented, assertDocumentedHead, bodyOf, pattern } from './documented-response.ts';
import { executedPages } from './executed-pages.ts';

/** Creates an admin with a staging key in `ADMIN_KEY`. */
const createAdmin = `
id=$(petstore account create --email admin@example.org --name Admin --admin --json | sed 's/.*"id":\\([0-9]*\\).*/\\1/')
ADMIN_KEY=$(petstore key create --account $id --deployment staging --json | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')`;

const createPhoto = `printf '${(await image('jpeg')).toString('base64')}' | base64 -d > rex.jpg`;

for (const [path, settings] of Object.entries(executedPages)) {
  const page = await readPage(path);
  const steps = stepsOf(blocksOf(page));

  describe(`${path}, executed`, { skip }, () => {
    let server: FirstServer;
    /** What a reader puts in the place of `ID`: the account that was created last. */
    let accountId = '';
    before(async () => {
      server = await startFirstServer(settings);
      if (page.includes('$ADMIN_KEY')) await server.run(createAdmin);
      if (page.includes('rex.jpg')) await server.run(createPhoto);
    });
    after(async () => {
      assert.deepEqual(await server.stop(), [0, null]);
    });

    for (const { script, responses } of steps) {
      test(script.split('\n')[0]!, async () => {
        if (script === 'npm start') {
          assert.match(JSON.parse(await readPage('package.json')).scripts.start, / && exec bin\/petstore serve$/);
          return;
        }
        const output = await server.run(script.replaceAll('--account ID', `--account ${accountId}`));
        accountId = /^account +(\d+)$/m.exec(output)?.[1] ?? accountId;
        assert.doesNotMatch(output, /"status":5\d\d[,}]/);
        for (const block of responses) assertResponse(output, block);
        if (!responses.some(({ text }) => /"code"|HTTP\/1\.1 4/.test(text))) {
          assert.doesNotMatch(output, /"code":"\w+","message"/);
        }
      });
    }
  });
}

function assertResponse(output: string, { language, text }: Block): void {
  if (language === 'http') assertDocumentedHead(output, text);
  if (language === 'http' && text.includes('\n\n')) {
    assertDocumented(JSON.parse(bodyOf(output)), JSON.parse(text.slice(text.indexOf('\n\n'))));
  }
  if (language === 'json') assertDocumented(JSON.parse(bodyOf(output)), JSON.parse(text));
  if (language === 'text') for (const line of text.split('\n')) assert.match(output, lineIn(line));
}

/** Returns the pattern of an output in which the documented line stands somewhere. */
function lineIn(line: string): RegExp {
  return new RegExp(pattern(line).source, 'm');
}

/** Returns each `sh` block with the response blocks that follow it up to the next one. */
function stepsOf(blocks: readonly Block[]): { script: string; responses: Block[] }[] {
  const steps: { script: string; responses: Block[] }[] = [];
  for (const block of blocks) {
    if (block.language === 'sh') steps.push({ script: block.text, responses: [] });
    else if (['json', 'http', 'text'].includes(block.language)) steps.at(-1)?.responses.push(block);
  }
  return steps;
}
