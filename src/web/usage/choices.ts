import { type Html, html } from '../../lib/html/html.ts';
import type { Key } from '../../model/key.ts';
import type { DeploymentName } from '../../model/schema.ts';
import { select } from '../forms.ts';
import { titleOf } from '../layout.ts';
import type { AccountVisit } from '../page.ts';

const deployments = ['production', 'staging'] as const;

/** The maximum number of keys to choose from: the newest ones. */
const KEYS_MAX = 100;

/** Returns the deployment of the query. */
export function chosenDeployment({ query }: AccountVisit): DeploymentName | undefined {
  return deployments.find(name => name === query.get('deployment'));
}

/** Returns the key of the query, if it belongs to the account. */
export function chosenKey({ query }: AccountVisit, keys: readonly Key[]): string | undefined {
  return keys.find(({ id }) => id === query.get('key'))?.id;
}

/**
 * Returns the field to choose a deployment.
 * @param both the label of the choice of both, if there is one
 */
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

/** Returns the names of keys by their ids, without keys that have no name. */
export function keyNames(keys: readonly Key[]): ReadonlyMap<string, string> {
  return new Map(keys.flatMap(({ id, name }) => (name === undefined ? [] : [[id, name] as const])));
}
