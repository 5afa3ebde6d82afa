import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { metricGroups } from '../../src/operate/metrics/metrics.ts';
import { withoutProgram } from '../support/programs.ts';
import { deployFiles, withoutYaml, yamlOf } from './files.ts';

const root = new URL('../..', import.meta.url).pathname;
const rulesFile = 'deploy/prometheus/alerts.yaml';
const runbook = readFileSync(`${root}/docs/operating/runbook.md`, 'utf8');
const types = new Map<string, string>(
  Object.values(metricGroups).flatMap(metrics => metrics.map(({ name, type }) => [name, type] as const)),
);

/** Asserts that each name of a metric in an expression exists; those of histograms have a suffix. */
function assertMetrics(expression: string): void {
  const names = expression.match(/\b(petstore|process|nodejs)_\w+/g) ?? [];
  assert.ok(names.length > 0 || /\bup\{/.test(expression), expression);
  for (const name of names) {
    const family = name.replace(/_(bucket|sum|count)$/, '');
    assert.ok(types.get(family) === 'histogram' ? family !== name : types.has(name), name);
  }
}

describe(rulesFile, { skip: withoutYaml }, () => {
  const [{ groups }] = withoutYaml ? [{ groups: [] }] : yamlOf(rulesFile);
  const rules = groups.flatMap((group: { rules: object[] }) => group.rules);

  it('names only metrics that exist', () => {
    for (const { expr } of rules) assertMetrics(expr);
  });

  it('has a section of the runbook for each alert, and no other', () => {
    const alerts = rules.map(({ alert }: { alert: string }) => alert);
    assert.deepEqual(
      Array.from(runbook.matchAll(/^## (.*)$/gm), ([, heading]) => heading),
      alerts,
    );
    for (const { alert, annotations } of rules) {
      assert.equal(annotations.runbook_url, `docs/operating/runbook.md#${alert.toLowerCase()}`);
    }
  });

  it('is accepted by promtool', { skip: withoutProgram('promtool') }, () => {
    const { status, stderr } = spawnSync('promtool', ['check', 'rules', `${root}/${rulesFile}`], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  });
});

describe('deploy/grafana/dashboard.json', () => {
  const { panels, templating } = JSON.parse(deployFiles.get('deploy/grafana/dashboard.json')!) as {
    panels: { id: number; targets?: { expr: string }[] }[];
    templating: { list: { name: string }[] };
  };

  it('names only metrics and variables that exist', () => {
    const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    assert.ok(expressions.length > 10);
    const variables = templating.list.map(({ name }) => name);
    for (const expression of expressions) {
      assertMetrics(expression);
      for (const [, name] of expression.matchAll(/\$([a-z]\w*)/g)) assert.ok(variables.includes(name!), expression);
    }
  });

  it('has a different id for each panel', () => {
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  });
});
