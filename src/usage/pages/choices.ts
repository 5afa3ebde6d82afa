import type { Key } from '../../keys/key.ts';
import { type Html, html } from '../../lib/html/html.ts';
import type { DeploymentName } from '../../schema.ts';
import { select } from '../../web/forms.ts';
import { titleOf } from '../../web/layout.ts';
import type { AccountVisit } from '../../web/page.ts';

const deployments = ['production', 'staging'] as const;

/** The most keys to choose from: the newest ones. */
const KEYS_MAX = 100;

/** Returns the deployment that the address of the page names. */
export function chosenDeployment({ query }: AccountVisit): DeploymentName | undefined {
  return deployments.find(name => name === query.get('deployment'));
}

/** Returns the key that the address of the page names, if it belongs to the account. */
export function chosenKey({ query }: AccountVisit, keys: readonly Key[]): string | undefined {
  return keys.find(({ id }) => id === query.get('key'))?.id;
}

/** Returns the choice of a deployment. @param both the label of the choice of both, if there is one */
export function selectDeployment(
  { site }: AccountVisit,
  chosen: DeploymentName | undefined,
  both?: string,
): Html | undefined {
  const served = deployments.filter(name => site.deployments.has(name));
  const choices = served.map(value => ({ value, label: titleOf(value), checked: value === chosen }));
  const all = both === undefined ? [] : [{ value: '', label: both }];
  return served.length === 1
    ? undefined
    : select({ name: 'deployment', label: 'Deployment', choices: [...all, ...choices] });
}

export function selectKey(keys: readonly Key[], chosen: string | undefined): Html {
  const newest = keys.toSorted((a, b) => b.createdAt - a.createdAt).slice(0, KEYS_MAX);
  const choices = newest.map(({ id, name }) => ({
    value: id,
    label: html`${name === undefined ? id : `${name} (${id})`}`,
    checked: id === chosen,
  }));
  return select({ name: 'key', label: 'API key', choices: [{ value: '', label: 'All keys' }, ...choices] });
}

/** Returns the names of the keys that have one, by their ids. */
export function keyNames(keys: readonly Key[]): ReadonlyMap<string, string> {
  return new Map(keys.flatMap(({ id, name }) => (name === undefined ? [] : [[id, name] as const])));
}
