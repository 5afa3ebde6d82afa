import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { allows, type Permission, permissions, roleNames, roles } from '../../src/model/roles.ts';

test('the guide shows what each role may do', () => {
  const guide = readFileSync(new URL('../../docs/people.md', import.meta.url), 'utf8');
  const rows = [...guide.matchAll(/^\|(.+)\|$/gm)].map(([, row]) => row!.split('|').map(cell => cell.trim()));
  const [heading, , ...shown] = rows;
  assert.deepEqual(
    heading!.slice(1),
    roleNames.map(role => roles[role].title),
  );
  const expected = Object.entries(permissions).map(([permission, title]) => [
    title,
    ...roleNames.map(role => (allows(role, permission as Permission) ? 'yes' : 'no')),
  ]);
  assert.deepEqual(shown, expected);
});
