import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandNamed, findCommand } from '../../src/cli/commands.ts';
import { parseUsage } from '../../src/cli/usage.ts';

const root = new URL('../..', import.meta.url).pathname;

/** The text of each file of `deploy/`, by its path below the project directory. */
export const deployFiles: ReadonlyMap<string, string> = new Map(
  globSync('deploy/**/*', { cwd: root, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .map(path => [path.slice(root.length), readFileSync(path, 'utf8')]),
);

/** Returns the variables of an environment file. */
export function variablesOf(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name!, value!]));
}

const parser = `
import json, sys, yaml
class Loader(yaml.SafeLoader):
    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key) for key, _ in node.value]
        assert len(keys) == len(set(keys)), f'A key repeats: {node.start_mark}'
        return super().construct_mapping(node, deep)
json.dump(list(yaml.load_all(sys.stdin, Loader)), sys.stdout)
`;

/** The reason for skipping tests that parse YAML, or `false`. */
export const withoutYaml =
  spawnSync('python3', ['-c', 'import yaml']).status !== 0 && 'left out: there is no python3-yaml';

/** Returns the documents of a YAML file of `deploy/`, whose keys are unique. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into it as they know it
export function yamlOf(path: string): any[] {
  return parseYaml(deployFiles.get(path)!);
}

/** Returns the documents of a text in YAML, whose keys are unique. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into it as they know it
export function parseYaml(text: string): any[] {
  const { stdout, stderr } = spawnSync('python3', ['-c', parser], { input: text, encoding: 'utf8' });
  assert.equal(stderr, '');
  return JSON.parse(stdout);
}

/** Asserts that `args` are a command line of `petstore`, without that word. */
export async function assertCommand(args: readonly string[]): Promise<void> {
  const { name, rest } = findCommand(args);
  const command = await commandNamed(name, rest);
  assert.doesNotThrow(() => parseUsage(command, rest), args.join(' '));
}
