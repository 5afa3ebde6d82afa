import type { DeploymentName } from '../../model/schema.ts';
import { configuredDocument } from '../../views/openapi.ts';
import { type Command, deploymentOption } from '../command.ts';

export const openapi: Command = {
  name: 'openapi',
  summary: 'Print the OpenAPI document of a deployment, as its /openapi.json serves it.',
  options: { deployment: { ...deploymentOption, description: 'The deployment to describe.' } },
  examples: { 'petstore openapi --deployment staging > openapi.json': 'to generate a client for staging' },
  async run({ options, config }) {
    const document = configuredDocument(config, options.deployment as DeploymentName);
    return { value: document, text: () => JSON.stringify(document, undefined, 2) };
  },
};
