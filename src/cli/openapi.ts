import type { DeploymentName } from '../schema.ts';
import type { Command } from './command.ts';

/** `petstore openapi` */
export const command: Command = {
  name: 'openapi',
  sentence: 'Prints the OpenAPI document of an address, as its /openapi.json has it.',
  options: {
    deployment: {
      sentence: 'Whose document.',
      value: 'DEPLOYMENT',
      choices: ['production', 'staging'],
      default: 'production',
    },
  },
  examples: [
    { line: 'petstore openapi --deployment staging > openapi.json', sentence: 'to generate a client for staging' },
  ],
  async run({ options, config }) {
    const { openApiOf } = await import('../app.ts');
    const document = await openApiOf(config, options.deployment as DeploymentName);
    return { value: document, text: () => JSON.stringify(document, undefined, 2) };
  },
};
