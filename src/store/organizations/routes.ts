import { listOperation, operation } from '../../access/deployment.ts';
import { withIdempotency } from '../../access/idempotency/idempotency.ts';
import { etagOf } from '../../lib/etag.ts';
import { SCAN_LIMIT } from '../../lib/http/pagination/paginate.ts';
import type { RouteResponse } from '../../lib/http/route.ts';
import { countrySchema, lineSchema } from '../../lib/schemas.ts';
import { countText } from '../../lib/text.ts';
import { Type } from '../../lib/type.ts';
import {
  KEY_LENGTH_MAX,
  NewOrganization,
  Organization,
  OrganizationId,
  OrganizationPatch,
  type OrganizationRow,
  Organizations,
  organizationOf,
  STATE_LENGTH_MAX,
} from '../../model/organization.ts';
import { getExamples, listExamples, removeExamples, replaceExamples, updateExamples } from './examples.ts';
import { listOrganizations } from './list.ts';
import { deleteOrganization, getOrganization, replaceOrganization, updateOrganization } from './organizations.ts';

const parameters = {
  organizationId: {
    schema: OrganizationId,
    description: 'The id of the organization: the id of its account.',
    errorCode: 'organization_not_found',
    errorMessage: 'There is no organization with this id.',
  },
} as const;

const OWNERS = 'Only the account itself or an admin can do this.';
/** Organizations are public, so only accounts may publish them, not trial keys. */
const notInSandbox = 'publish organizations';
const headers = { ETag: 'The new entity tag.' };

export const list = listOperation({
  summary: 'List organizations',
  description:
    'Returns a paginated list of the organizations that accounts have published, sorted by id unless `sort` says ' +
    `otherwise. With a country, a state, or a name without \`sort=name\`, a page scans up to ${countText(SCAN_LIMIT)} organizations: it may ` +
    'be short or empty and still have a next page.',
  noun: 'organizations',
  filters: {
    name: Type.Optional(
      lineSchema('Only names that begin with this text; case and accents do not matter.', KEY_LENGTH_MAX),
    ),
    country: Type.Optional(countrySchema('Only organizations of this country: its ISO 3166-1 alpha-2 code.')),
    state: Type.Optional(
      lineSchema('Only organizations of this state, written as in their addresses.', STATE_LENGTH_MAX),
    ),
    sort: Type.Optional(
      Type.Enum(['id', '-id', 'name', '-name'], {
        default: 'id',
        description: 'The order: by id, or by name (without case and accents, then by id); a minus sign reverses it.',
      }),
    ),
  },
  schema: Organizations,
  examples: listExamples,
  async handle({ context, publicUrl, filters, page }) {
    const { rows, ...links } = await listOrganizations(context.database, filters, page);
    return { rows: rows.map(row => organizationOf(row, publicUrl)), ...links };
  },
});

export const get = operation({
  summary: 'Get an organization',
  description: 'Returns the public profile of an account. Only admins see the profile of a suspended account.',
  parameters,
  successes: [{ status: 200, description: 'The organization.', schema: Organization }],
  errors: [],
  examples: getExamples,
  async handle(request) {
    const { context, caller, path } = request;
    return responseOf(request, await getOrganization(context.database, caller, path.organizationId));
  },
});

export const replace = operation({
  summary: 'Publish or replace an organization',
  description:
    'Publishes the public profile of your account, with the id of your account, or replaces all its fields: optional fields that are left out are deleted. The profile has the e-mail address and the phone number that you send, never those of ' +
    `your account. ${OWNERS} To publish only if there is no profile yet, send \`If-None-Match: *\`.`,
  parameters,
  notInSandbox,
  conditional: true,
  body: NewOrganization,
  successes: [
    { status: 200, description: 'The replaced organization.', schema: Organization, headers },
    {
      status: 201,
      description: 'The new organization.',
      schema: Organization,
      headers: { ...headers, Location: 'The URL of the organization.' },
    },
  ],
  errors: ['not_owner'],
  examples: replaceExamples,
  async handle(request) {
    const { context, caller, origin, path, body, baseUrl, checkPreconditions } = request;
    const { organization, isNew } = await context.database.write(
      tx => replaceOrganization(tx, caller, path.organizationId, body, checkPreconditions),
      origin,
    );
    if (!isNew) return responseOf(request, organization);
    const location = ['Location', `${baseUrl}/organizations/${organization.id}`];
    return { ...responseOf(request, organization, location), status: 201 };
  },
});

export const update = operation({
  summary: 'Change an organization',
  description:
    'Applies a JSON Merge Patch (RFC 7396): fields that are left out stay, also the fields of an address or of the hours, and ' +
    `\`null\` deletes an optional field. A list of links is replaced as a whole. ${OWNERS}`,
  parameters,
  notInSandbox,
  conditional: true,
  body: OrganizationPatch,
  successes: [{ status: 200, description: 'The organization after the change.', schema: Organization, headers }],
  errors: ['not_owner'],
  examples: updateExamples,
  handle(request) {
    const { caller, path, body, checkPreconditions } = request;
    return withIdempotency(request, async tx =>
      responseOf(request, await updateOrganization(tx, caller, path.organizationId, body, checkPreconditions)),
    );
  },
});

export const remove = operation({
  summary: 'Delete an organization',
  description: `Deletes the public profile of your account; your animals stay. You can publish it again. ${OWNERS}`,
  parameters,
  notInSandbox,
  conditional: true,
  successes: [{ status: 204, description: 'The organization is deleted.' }],
  errors: ['not_owner'],
  examples: removeExamples,
  async handle({ context, caller, origin, path, checkPreconditions }) {
    await context.database.write(tx => deleteOrganization(tx, caller, path.organizationId, checkPreconditions), origin);
    return {};
  },
});

function responseOf(
  { publicUrl }: { readonly publicUrl: string },
  organization: OrganizationRow,
  headers: readonly string[] = [],
): RouteResponse {
  return { body: organizationOf(organization, publicUrl), headers: [...headers, 'ETag', etagOf(organization)] };
}
