import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settings } from '../model/settings.ts';
import type { Terminal } from './command.ts';
import { allCommands } from './commands.ts';
import { main, messageOf } from './main.ts';
import { plain } from './terminal.ts';
import { commonOptions } from './usage.ts';

/** An environment without data and without a server. */
const nowhere = {
  PETSTORE_DATA_DIR: '/dev/null/nowhere',
  PETSTORE_PORT: '0',
  PETSTORE_STAGING_PORT: '0',
  PETSTORE_MESSAGES_PORT: '0',
};

/** Runs a command line that must not access data. Returns its exit code and both outputs. */
async function petstore(...args: string[]) {
  let printed = '';
  let errors = '';
  const terminal: Terminal = {
    print: text => {
      printed += `${text}\n`;
    },
    printError: text => {
      errors += `${text}\n`;
    },
    write: assert.fail,
    style: plain,
  };
  return { code: await main(args, nowhere, terminal), printed, errors };
}

const commands = await allCommands();

describe('help', () => {
  it('lists every command with its summary', async () => {
    const { code, printed, errors } = await petstore('--help');
    assert.deepEqual([code, errors], [0, '']);
    for (const load of Object.values(commands)) {
      const command = await load();
      assert.ok(printed.includes(command.name) && printed.includes(command.summary), command.name);
    }
  });

  it('lists only the commands of a group', async () => {
    const { code, printed } = await petstore('account', '--help');
    assert.equal(code, 0);
    assert.match(printed, /account create/);
    assert.doesNotMatch(printed, /key create/);
  });

  for (const [name, load] of Object.entries(commands)) {
    it(`describes ${name}`, async () => {
      const command = await load();
      assert.equal(command.name, name);
      assert.match(command.summary, /^[A-Z].*\.$/);
      for (const line of [
        [...name.split(' '), '--help'],
        ['help', ...name.split(' ')],
        [...name.split(' '), 'x', '-h'],
      ]) {
        const { code, printed, errors } = await petstore(...line);
        assert.deepEqual([code, errors], [0, '']);
        for (const option of Object.keys({ ...command.options, ...commonOptions })) {
          assert.ok(printed.includes(`--${option}`), option);
        }
        for (const argument of Object.keys(command.arguments ?? {})) assert.ok(printed.includes(argument), argument);
        for (const line of Object.keys(command.examples)) assert.ok(printed.includes(line), line);
      }
    });
  }

  it('lists every setting under serve', async () => {
    const { printed } = await petstore('serve', '--help');
    for (const setting of Object.values(settings)) {
      assert.ok(printed.includes(setting.name) && printed.includes(setting.description), setting.name);
    }
  });

  it('is a value with --json', async () => {
    const { printed } = await petstore('key', 'create', '--help', '--json');
    const [command] = JSON.parse(printed);
    assert.equal(command.name, 'key create');
    assert.ok(command.options.account.required);
  });

  it('shows examples that the commands accept', async () => {
    const needNoData = /^(serve|openapi|migrate --plan)\b/;
    for (const load of Object.values(commands)) {
      const command = await load();
      for (const line of Object.keys(command.examples)) {
        const [, rest = ''] = line.split(/\bpetstore (?=[a-z]+)/).slice(-2);
        const args = [...rest.replace(/ >.*/, '').matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
          match => match[1] ?? match[2] ?? match[3]!,
        );
        if (needNoData.test(args.join(' '))) continue;
        // The command line is valid, but the data directory and the ports are not.
        const { code, errors } = await petstore(...args);
        assert.equal(code, 1, `${line}: ${errors}`);
      }
    }
  });
});

describe('wrong usage', () => {
  const wrong: [line: string, sentence: RegExp][] = [
    ['', /^Name a command: serve, account create/],
    ['--json', /^Name the command before --json/],
    ['frobnicate', /^There is no command `petstore frobnicate`\. See `petstore --help`\.$/],
    ['srve', /did you mean serve\? See `petstore --help`\.$/],
    ['acount create', /did you mean account create\?/],
    ['key rovoke', /did you mean key revoke\?/],
    ['account', /is incomplete; use account create, or account list, or /],
    ['__proto__', /^There is no command/],
    ['constructor', /^There is no command/],
    ['frobnicate --help', /^There is no command/],
    ['serve --jsno', /no option --jsno; did you mean --json\? See `petstore serve --help`\.$/],
    ['serve -x', /no option -x\./],
    ['serve --constructor', /no option --constructor\./],
    ['serve --no-json', /no option --no-json/],
    ['serve now', /takes no argument "now"\./],
    ['serve --json=yes', /--json takes no value\./],
    ['serve --json --json', /--json is given twice\./],
    ['account create', /needs --email EMAIL\./],
    ['account create --email a@example.org', /needs --name NAME\./],
    ['account create --email', /--email needs a value: --email=EMAIL\./],
    ['account create --email --name b', /--email needs a value/],
    ['account create --email a@example.org --email b@example.org --name b', /--email is given twice/],
    ['account create --email a --name b', /e-mail address must look like/],
    ['account create --email a@example.org --name=', /name must have at least one/],
    [
      'account create --email a@example.org --name b --plan gold',
      /--plan must be free or pro or business or enterprise\./,
    ],
    ['account create --email a@example.org --name b --plan enterprize', /did you mean enterprise\?/],
    ['account create --email a@example.org --name b --per-minute 5', /plan free has fixed limits/],
    [
      'account create --email a@example.org --name b --plan enterprise',
      /needs both requests per minute and requests per day/,
    ],
    [
      'account create --email a@example.org --name b --plan enterprise --per-minute 0 --per-day 5',
      /--per-minute must be/,
    ],
    [
      'account create --email a@example.org --name b --plan enterprise --per-minute 5 --per-day 1e3',
      /--per-day must be/,
    ],
    ['account list all', /takes no argument "all"/],
    ['account show', /needs ID\./],
    ['account show me', /^ID must be a whole number/],
    [
      'account update 7',
      /Name what to change: --email, --name, --plan, --per-minute, --per-day, --admin, --no-admin\./,
    ],
    ['account update 7 --admin --no-admin', /exclude each other/],
    ['account update 7 --email ann', /e-mail address must look like/],
    ['account update 7 --plan pro --per-day 5', /plan pro has fixed limits/],
    ['account update 7 --per-minute 0', /--per-minute must be/],
    ['account suspend', /needs ID\./],
    ['account resume 7 8', /takes no argument "8"/],
    ['account link me', /^ID must be a whole number/],
    ['account revoke-keys', /needs ID\./],
    ['audit list --types pet.sold', /--types must be /],
    ['audit refusals --account me', /^--account must be a whole number/],
    ['audit refusals --limit 0', /--limit must be a whole number from 1 to/],
    ['account transfer 7', /needs --to ID\./],
    ['account transfer 7 --to 7', /--to must be another account/],
    ['account export 7 --now', /no option --now/],
    ['export me', /ID must be a whole number from 1 to/],
    ['export 7 --json', /--json requires --output FILE\./],
    ['export 7 --format xml', /--format must be csv or ndjson/],
    ['import 7', /needs FILE\./],
    ['import 7 pets.csv --confirm-removals all', /--confirm-removals must be a whole number/],
    ['account delete 7 --grace never', /--grace must be a duration/],
    ['key create', /needs --account ID/],
    ['key create --account me', /--account must be a whole number from 1 to 9007199254740991\./],
    ['key create --account 0', /--account must be a whole number from 1 to 9007199254740991\./],
    ['key create --account 1 --deployment prod', /--deployment must be production or staging/],
    ['key create --account 1 --scope pets:delete', /no scope "pets:delete"/],
    ['key create --account 1 --network 10.0.0.0/33', /"10\.0\.0\.0\/33" is not an address or a network/],
    ['key create --account 1 --expires tomorrow', /--expires must be a duration/],
    ['key list --account 1', /no option --account/],
    ['key revoke', /needs ID\./],
    ['key revoke a b', /takes no argument "b"/],
    ['key rotate', /needs ID\./],
    ['key rotate a --overlap 1w', /--overlap must be a duration/],
    ['ban list x', /takes no argument "x"/],
    ['ban lift', /needs KEY_ID\./],
    ['pet', /is incomplete; use pet list, or pet show, or pet create, or pet update, or pet delete\./],
    ['pets list', /did you mean pet list\?/],
    ['pet list --status lost', /--status must be available or pending or sold\./],
    ['pet list --status available --status lost', /--status must be/],
    ['pet list --limit 0', /--limit must be a whole number from 1 to 100000\./],
    ['pet list --limit 100001', /--limit must be/],
    ['pet list --status available,lost', /--status must be available or pending or sold\./],
    ['pet list --status available,', /--status must be/],
    ['pet list --status available,slod', /did you mean sold\?/],
    ['pet create --account 1 --name Minka --category 2 --status pending,sold', /--status must be/],
    ['pet list --id 1,x', /--id must be a whole number from 1 to 9007199254740991\./],
    [`pet list --id ${Array.from({ length: 101 }, (_, n) => n + 1)}`, /--id must have at most 100 items\./],
    ['pet list --category cats', /--category must be a whole number from 1 to 9007199254740991\./],
    ['pet list --category 9007199254740992', /--category must be a whole number from 1 to 9007199254740991\./],
    ['order list --status placed,lost', /--status must be placed or approved/],
    ['hold list --status active,lost', /--status must be active or released/],
    ['pet list --deployment prod', /--deployment must be production or staging/],
    ['pet show', /needs ID\./],
    ['pet show Minka', /^ID must be a whole number from 1 to 9007199254740991\./],
    ['pet show 007', /^ID must be/],
    ['pet show 9007199254740992', /^ID must be/],
    ['pet show 7 --history=yes', /--history takes no value\./],
    ['pet create --account 1 --name Minka', /needs --category ID\./],
    ['pet create --account 1 --name= --category 2', /--name must have at least 1 character\./],
    ['pet create --account 0 --name Minka --category 2', /--account must be/],
    ['pet create --account 1 --name Minka --category 2 --price 125', /--price must be an amount and a currency/],
    ['pet create --account 1 --name Minka --category 2 --price 1.5JPY', /--price must be/],
    ['pet create --account 1 --name Minka --category 2 --reason=', /--reason must have at least 1 character\./],
    ['pet update 7', /Name what to change: --name, --category, --status, --reason, --price, --external-id, /],
    ['pet update 7 --status gone', /--status must be/],
    ['pet delete all', /^ID must be/],
    ['pet delete 7 8', /takes no argument "8"/],
    ['category list --parent top', /--parent must be/],
    ['category show cats', /^ID must be/],
    ['category attributes', /needs ID\./],
    ['category create --slug cats', /needs --name NAME\./],
    ['category create --name Cats --slug Cats!', /--slug must match the pattern .*, as guinea-pigs does\./],
    ['category create --name Cats --parent none', /--parent must be a whole number/],
    ['category update 2', /Name what to change: --name, --slug, --parent, --breeds, --colors\./],
    ['category update 2 --name=', /--name must have/],
    ['category delete', /needs ID\./],
    ['organization list --country Neverland', /--country must be a country as two capital letters/],
    ['organization show shelter', /^ID must be/],
    ['organization publish 7', /needs --name NAME\./],
    ['organization publish 7 --name x --address {"city":"y"}', /--address country is required\./],
    ['organization publish 7 --name x --email me', /--email must be an e-mail address/],
    ['organization publish 7 --name x --location north', /--location must be a JSON object/],
    ['organization publish 7 --name x --social-media x.example', /--social-media must be a URL/],
    ['organization update 7', /Name what to change: --name, --address, .*--social-media\./],
    ['organization update 7 --location {"latitude":91}', /--location must be from -90 to 90\./],
    ['organization delete', /needs ID\./],
    ['category merge 9000', /needs --into ID\./],
    ['category merge 9000 --into cats', /--into must be/],
    ['hold list --status ended', /--status must be active or released or used or expired/],
    ['hold list --pet Minka', /--pet must be/],
    ['hold show', /needs ID\./],
    ['hold extend 3', /needs --until WHEN\./],
    ['hold extend 3 --until tomorrow', /--until must be a duration like 30s, 15m, 24h or 7d, or a time like/],
    ['hold release 3 --force', /no option --force/],
    ['order list --status sold', /--status must be placed or approved/],
    ['order show x', /^ID must be/],
    ['order place --pet 7', /needs --account ID\./],
    ['order place --account 1 --pet 7 --note=', /--note must have at least 1 character\./],
    ['order place --account 1 --pet 7 --hold x', /--hold must be/],
    ['order approve', /needs ID\./],
    ['order approve 12 --not-ready', /no option --not-ready/],
    ['order deliver 12 --note', /--note needs a value/],
    ['order cancel twelve', /^ID must be/],
    ['order return 12 --not-ready=yes', /--not-ready takes no value/],
    ['member list', /needs ID\./],
    ['member link', /needs PERSON\./],
    ['member remove 7', /needs PERSON\./],
    ['member remove 7 x', /^PERSON must be/],
    ['member reset-second-factor', /needs PERSON\./],
    ['member', /is incomplete; use member list/],
    ['staging reset --force', /no option --force/],
    ['staging', /is incomplete; use staging reset\./],
    ['postal-codes import', /needs FILE\./],
    ['postal-codes', /is incomplete; use postal-codes import\./],
    ['secret-key rotate --force', /no option --force/],
    ['secret-key', /is incomplete; use secret-key rotate\./],
    ['message list --box inbox', /--box needs --account/],
    ['message list --account me', /--account must be a whole number/],
    ['message show 12', /^ID must be like msg_1\./],
    ['message send --message x', /either --account/],
    ['message send --message x --to 1 --account 2', /either --account/],
    ['message send --message x --to 1 --pet 2', /--pet and --reply-to go with --account/],
    ['message send --account 1 --message=', /--message must/],
    ['message send --account 1 --message x --reply-to me', /--reply-to must be an e-mail address/],
    ['health --wait soon', /--wait must be a duration/],
    ['copy', /needs --from URL\./],
    ['backup', /needs DIRECTORY\./],
    ['restore one two', /takes no argument "two"/],
    ['verify production', /takes no argument "production"/],
    ['migrate up', /takes no argument "up"/],
    ['compact staging', /takes no argument "staging"/],
    ['webhook list --limit 0', /--limit must be/],
    ['webhook show', /needs ID\./],
    ['webhook disable x', /ID must be a whole number/],
    ['webhook delete 3 --force', /no option --force/],
    ['listen --url http://localhost:8081/v1', /needs --forward-to URL\./],
    ['listen --forward-to http://localhost:3000/hook', /needs --url URL\./],
    ['listen --url localhost:8081 --forward-to http://localhost:3000/', /--url must be a URL that begins with http/],
    ['listen --url http://localhost:1/v1 --forward-to ftp://localhost/', /--forward-to must be a URL that begins/],
    [
      'listen --url http://localhost:1/v1 --forward-to http://me:secret@localhost/',
      /--forward-to must not have a user name/,
    ],
    ['listen --url http://localhost:1/v1 --forward-to http://localhost/ --since 5', /--since must be the id of an/],
    [
      'listen --url http://localhost:1/v1 --forward-to http://localhost/ --types order.palced,pet.*',
      /^There is no event type "order\.palced"; did you mean order\.placed\?/,
    ],
    [
      'listen --url http://localhost:1/v1 --forward-to http://192.0.2.1/',
      /^--forward-to must lead to this machine; 192\.0\.2\.1 does not\. Add --allow-remote to allow it\./,
    ],
    [`listen --key petstore_test_${'a'.repeat(12)}_${'b'.repeat(39)}`, /^An argument contains an API key[^b]*$/],
    ['openapi --deployment messages', /--deployment must be production or staging/],
  ];
  for (const [line, sentence] of wrong) {
    it(`prints one sentence and exits with 2: petstore ${line}`, async () => {
      const { code, printed, errors } = await petstore(...line.split(' ').filter(word => word !== ''));
      assert.deepEqual([code, printed], [2, '']);
      assert.match(errors.trimEnd(), sentence);
      assert.match(errors, /^[^\n]+ See `petstore [^\n]*--help`\.\n$/);
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
  it('exit with 1 and one sentence for an invalid setting', async () => {
    let errors = '';
    const terminal: Terminal = {
      print: assert.fail,
      printError: text => (errors += `${text}\n`),
      write: assert.fail,
      style: plain,
    };
    assert.equal(await main(['key', 'list'], { PETSTORE_PORT: 'x' }, terminal), 1);
    assert.equal(errors, 'PETSTORE_PORT must be a port from 0 to 65535.\n');
  });

  it('contain no stack, no second line and no password', () => {
    const error = new Error('could not reach postgres://petstore:hunter2@db/petstore\nand more');
    assert.equal(messageOf(error), 'Unexpected error: could not reach postgres://db/petstore');
    assert.equal(messageOf('thrown'), 'Unexpected error: thrown');
  });
});
