import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settings } from '../config.ts';
import type { Terminal } from './command.ts';
import { commands, commonOptions } from './commands.ts';
import { main, sentenceOf } from './main.ts';
import { plain } from './terminal.ts';

/** Runs a command line that must not reach any data: what it printed, told, and its exit code. */
async function petstore(...args: string[]) {
  let printed = '';
  let told = '';
  const terminal: Terminal = {
    print: text => {
      printed += `${text}\n`;
    },
    tell: text => {
      told += `${text}\n`;
    },
    style: plain,
  };
  return { code: await main(args, { PETSTORE_DATA_DIR: '/dev/null/nowhere' }, terminal), printed, told };
}

describe('help', () => {
  it('names every command, with its sentence', async () => {
    const { code, printed, told } = await petstore('--help');
    assert.deepEqual([code, told], [0, '']);
    for (const load of Object.values(commands)) {
      const { command } = await load();
      assert.ok(printed.includes(command.name) && printed.includes(command.sentence), command.name);
    }
  });

  it('names the commands of a group alone', async () => {
    const { code, printed } = await petstore('account', '--help');
    assert.equal(code, 0);
    assert.match(printed, /account create/);
    assert.doesNotMatch(printed, /key create/);
  });

  for (const [name, load] of Object.entries(commands)) {
    it(`tells everything about ${name}`, async () => {
      const { command } = await load();
      assert.equal(command.name, name);
      assert.match(command.sentence, /^[A-Z].*\.$/);
      for (const line of [
        [...name.split(' '), '--help'],
        ['help', ...name.split(' ')],
        [...name.split(' '), 'x', '-h'],
      ]) {
        const { code, printed, told } = await petstore(...line);
        assert.deepEqual([code, told], [0, '']);
        for (const option of Object.keys({ ...command.options, ...commonOptions })) {
          assert.ok(printed.includes(`--${option}`), option);
        }
        for (const argument of Object.keys(command.arguments ?? {})) assert.ok(printed.includes(argument), argument);
        for (const example of command.examples) assert.ok(printed.includes(example.line), example.line);
      }
    });
  }

  it('lists every setting under serve', async () => {
    const { printed } = await petstore('serve', '--help');
    for (const setting of Object.values(settings)) {
      assert.ok(printed.includes(setting.name) && printed.includes(setting.sentence), setting.name);
    }
  });

  it('is a value with --json', async () => {
    const { printed } = await petstore('key', 'create', '--help', '--json');
    const [command] = JSON.parse(printed);
    assert.equal(command.name, 'key create');
    assert.ok(command.options.account.required);
  });

  it('shows examples that the commands take', async () => {
    for (const load of Object.values(commands)) {
      const { command } = await load();
      for (const { line } of command.examples) {
        const [, rest = ''] = line.split(/\bpetstore (?=[a-z]+)/).slice(-2);
        const args = [...rest.replace(/ >.*/, '').matchAll(/"([^"]*)"|(\S+)/g)].map(match => match[1] ?? match[2]!);
        if (args[0] === 'serve' || args[0] === 'openapi') continue;
        // What is typed is right; the data directory is not.
        const { code, told } = await petstore(...args);
        assert.equal(code, 1, `${line}: ${told}`);
      }
    }
  });
});

describe('wrong usage', () => {
  const wrong: [line: string, sentence: RegExp][] = [
    ['', /^Say what to do: serve, account create/],
    ['--json', /^Say the command before --json/],
    ['frobnicate', /^There is no command `petstore frobnicate`\. See `petstore --help`\.$/],
    ['srve', /did you mean serve\? See `petstore --help`\.$/],
    ['acount create', /did you mean account create\?/],
    ['key rovoke', /did you mean key revoke\?/],
    ['account', /half a command; say account create, or account list\./],
    ['__proto__', /^There is no command/],
    ['constructor', /^There is no command/],
    ['frobnicate --help', /^There is no command/],
    ['serve --jsno', /no option --jsno; did you mean --json\? See `petstore serve --help`\.$/],
    ['serve -x', /no option -x\./],
    ['serve --constructor', /no option --constructor\./],
    ['serve --no-json', /no option --no-json/],
    ['serve now', /takes no "now" there\./],
    ['serve --json=yes', /--json takes no value\./],
    ['serve --json --json', /--json was given twice\./],
    ['account create', /needs --email EMAIL\./],
    ['account create --email a@example.org', /needs --name NAME\./],
    ['account create --email', /--email needs a value: --email=EMAIL\./],
    ['account create --email --name b', /--email needs a value/],
    ['account create --email a@example.org --email b@example.org --name b', /--email was given twice/],
    ['account create --email a --name b', /e-mail address must be like/],
    ['account create --email a@example.org --name=', /name must have at least one/],
    [
      'account create --email a@example.org --name b --plan gold',
      /--plan must be free or pro or business or enterprise\./,
    ],
    ['account create --email a@example.org --name b --plan enterprize', /did you mean enterprise\?/],
    ['account create --email a@example.org --name b --per-minute 5', /plan free has its own limits/],
    ['account create --email a@example.org --name b --plan enterprise', /needs both agreed numbers/],
    [
      'account create --email a@example.org --name b --plan enterprise --per-minute 0 --per-day 5',
      /--per-minute must be/,
    ],
    [
      'account create --email a@example.org --name b --plan enterprise --per-minute 5 --per-day 1e3',
      /--per-day must be/,
    ],
    ['account list all', /takes no "all" there/],
    ['key create', /needs --account ID/],
    ['key create --account me', /--account must be the number/],
    ['key create --account 0', /--account must be the number/],
    ['key create --account 1 --deployment prod', /--deployment must be production or staging/],
    ['key create --account 1 --scope pets:delete', /no scope "pets:delete"/],
    ['key create --account 1 --expires tomorrow', /--expires must be a duration/],
    ['key list --account 1', /no option --account/],
    ['key revoke', /needs ID\./],
    ['key revoke a b', /takes no "b" there/],
    ['key rotate', /needs ID\./],
    ['key rotate a --overlap 1w', /--overlap must be a duration/],
    ['ban list x', /takes no "x" there/],
    ['ban lift', /needs KEY_ID\./],
    ['staging reset --force', /no option --force/],
    ['staging', /half a command; say staging reset\./],
    ['migrate up', /takes no "up" there/],
    ['openapi --deployment messages', /--deployment must be production or staging/],
  ];
  for (const [line, sentence] of wrong) {
    it(`exits with 2 and one sentence for: petstore ${line}`, async () => {
      const { code, printed, told } = await petstore(...line.split(' ').filter(word => word !== ''));
      assert.deepEqual([code, printed], [2, '']);
      assert.match(told.trimEnd(), sentence);
      assert.match(told, /^[^\n]+ See `petstore [^\n]*--help`\.\n$/);
    });
  }

  it('covers every command', () => {
    for (const name of Object.keys(commands)) {
      assert.ok(
        wrong.some(([line]) => line.startsWith(name)),
        name,
      );
    }
  });
});

describe('refusals', () => {
  it('exit with 1 and one sentence for settings that are wrong', async () => {
    let told = '';
    const terminal: Terminal = { print: assert.fail, tell: text => (told += `${text}\n`), style: plain };
    assert.equal(await main(['key', 'list'], { PETSTORE_PORT: 'x' }, terminal), 1);
    assert.equal(told, 'PETSTORE_PORT must be a port from 0 to 65535.\n');
  });

  it('have no stack, no second line and no password', () => {
    const error = new Error('could not reach postgres://petstore:hunter2@db/petstore\nand more');
    assert.equal(sentenceOf(error), 'Something went wrong: could not reach postgres://db/petstore');
    assert.equal(sentenceOf('thrown'), 'Something went wrong: thrown');
  });
});
