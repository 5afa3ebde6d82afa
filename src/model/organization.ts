import { etagOf } from '../lib/etag.ts';
import { columnsFor } from '../lib/fields/columns.ts';
import { booleanAsInteger, field, json, type RowOf, type StateOf, time } from '../lib/fields/field.ts';
import { fullSchema, newSchema, objectPatch, patchSchema, recordedSchema } from '../lib/fields/schemas.ts';
import { valuesFor } from '../lib/fields/values.ts';
import {
  checkedText,
  countrySchema,
  emailSchema,
  idSchema,
  lineSchema,
  timeSchema,
  webUrlSchema,
} from '../lib/schemas.ts';
import { sql } from '../lib/storage/query.ts';
import { countText, foldedText, NAME_LENGTH_MAX, spelled, textRules } from '../lib/text.ts';
import { type Static, Type } from '../lib/type.ts';
import { WEB_URL_LENGTH_MAX } from '../lib/web-url.ts';
import type { Noun } from './noun.ts';
import { photoOf, photosCodec, photosSchema, RecordedPhotos } from './photo.ts';

/** The id of an organization: that of its account. */
export const OrganizationId = idSchema('The id of its account, as in `accountId` of its animals.');

const Name = lineSchema(
  `The organization’s name, stored as sent: 1–${NAME_LENGTH_MAX} characters, at least one of them not white space, no control characters.`,
);

/** The maximum length of a line of an address, of a state, and of a postal code or a phone number. */
const LINE_LENGTH_MAX = 100;
export const STATE_LENGTH_MAX = 50;
const CODE_LENGTH_MAX = 50;

const optionalLine = (description: string, maxLength = LINE_LENGTH_MAX) =>
  Type.Optional(lineSchema(description, maxLength));

const Address = Type.Object(
  {
    line1: optionalLine(`The street and number, up to ${LINE_LENGTH_MAX} characters.`),
    line2: optionalLine(`More of the address, such as a floor, up to ${LINE_LENGTH_MAX} characters.`),
    city: optionalLine(`The city, up to ${LINE_LENGTH_MAX} characters.`),
    state: optionalLine(
      `The state or region, up to ${STATE_LENGTH_MAX} characters: \`CA\` or \`Bavaria\`.`,
      STATE_LENGTH_MAX,
    ),
    postalCode: optionalLine(`The postal code, up to ${CODE_LENGTH_MAX} characters.`, CODE_LENGTH_MAX),
    country: countrySchema('The country: its ISO 3166-1 alpha-2 code.'),
  },
  { title: 'Address', description: 'Where the organization is.' },
);
export const Location = Type.Object(
  {
    latitude: Type.Number({ minimum: -90, maximum: 90, description: 'Degrees north of the equator, −90 to 90.' }),
    longitude: Type.Number({ minimum: -180, maximum: 180, description: 'Degrees east of Greenwich, −180 to 180.' }),
  },
  { title: 'Location', description: 'The point where the organization is (WGS 84).' },
);
export type Location = Static<typeof Location>;

export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
const HOURS = `up to ${LINE_LENGTH_MAX} characters: \`10:00–17:00\`, or \`closed\`.`;

const Hours = Type.Object(
  {
    monday: optionalLine(`Monday, ${HOURS}`),
    tuesday: optionalLine(`Tuesday, ${HOURS}`),
    wednesday: optionalLine(`Wednesday, ${HOURS}`),
    thursday: optionalLine(`Thursday, ${HOURS}`),
    friday: optionalLine(`Friday, ${HOURS}`),
    saturday: optionalLine(`Saturday, ${HOURS}`),
    sunday: optionalLine(`Sunday, ${HOURS}`),
  },
  { title: 'Hours', description: 'When visitors are welcome, for each day of the week.' },
);
type Hours = Static<typeof Hours>;

/** The maximum length of a mission statement and of an adoption policy. */
export const TEXT_LENGTH_MAX = 2000;

const Mission = checkedText(
  textRules(TEXT_LENGTH_MAX),
  `What the organization is for: 1–${countText(TEXT_LENGTH_MAX)} characters, which may include line breaks.`,
);

const Adoption = Type.Object(
  {
    policy: Type.Optional(
      checkedText(
        textRules(TEXT_LENGTH_MAX),
        `How to adopt: 1–${countText(TEXT_LENGTH_MAX)} characters, which may include line breaks.`,
      ),
    ),
    url: Type.Optional(webUrlSchema(`A page about adoptions, up to ${WEB_URL_LENGTH_MAX} characters.`)),
  },
  { title: 'AdoptionPolicy', description: 'How to adopt an animal.' },
);
type Adoption = Static<typeof Adoption>;

/** The maximum number of links to social media. */
export const LINKS_MAX = 10;

const SocialMedia = Type.Array(webUrlSchema(`The URL of a profile, up to ${WEB_URL_LENGTH_MAX} characters.`), {
  minItems: 1,
  maxItems: LINKS_MAX,
  uniqueItems: true,
  description: `Its profiles on social media, up to ${spelled(LINKS_MAX)}.`,
});

const Email = emailSchema(
  'The e-mail address that the organization publishes. The e-mail address of its account is never shown.',
);
const Phone = lineSchema(
  `The phone number that the organization publishes, up to ${CODE_LENGTH_MAX} characters.`,
  CODE_LENGTH_MAX,
);

/**
 * The fields of an organization, one entry each: the public profile of an account. Events omit the long texts: events
 * cannot be deleted, so an account could fill the log with them.
 */
export const organizationFields = {
  id: field(OrganizationId, { column: 'id', fixed: true }),
  name: field(Name, {
    column: 'name',
    write: 'required',
    shown: Type.String({ description: 'The organization’s name.' }),
  }),
  /** The key by which lists compare names; see `foldedName`. */
  nameKey: field(Type.String(), { column: 'name_key', view: 'row' }),
  address: field(Address, {
    columns: {
      line1: 'address_line1',
      line2: 'address_line2',
      city: 'city',
      state: 'state',
      postalCode: 'postal_code',
      country: 'country',
    },
    write: 'optional',
    patch: objectPatch(Address, 'AddressPatch'),
  }),
  location: field(Location, {
    column: 'location',
    codec: json<Location>(),
    write: 'optional',
    patch: objectPatch(Location, 'LocationPatch'),
  }),
  phone: field(Phone, { column: 'phone', write: 'optional' }),
  email: field(Email, { column: 'email', write: 'optional' }),
  website: field(webUrlSchema(`Its website, up to ${WEB_URL_LENGTH_MAX} characters.`), {
    column: 'website',
    write: 'optional',
  }),
  hours: field(Hours, {
    column: 'hours',
    codec: json<Hours>(),
    write: 'optional',
    patch: objectPatch(Hours, 'HoursPatch'),
    recorded: false,
  }),
  mission: field(Mission, { column: 'mission', write: 'optional', recorded: false }),
  adoption: field(Adoption, {
    column: 'adoption',
    codec: json<Adoption>(),
    write: 'optional',
    patch: objectPatch(Adoption, 'AdoptionPolicyPatch'),
    recorded: false,
  }),
  socialMedia: field(SocialMedia, {
    column: 'social_media',
    codec: json<string[]>(),
    write: 'optional',
    recorded: false,
  }),
  photos: field(RecordedPhotos, {
    column: 'photos',
    codec: photosCodec,
    nullable: true,
    recorded: false,
    shown: photosSchema('organization'),
  }),
  createdAt: field(timeSchema('When it was published.'), { column: 'created_at', codec: time, fixed: true }),
  updatedAt: field(timeSchema('When it last changed.'), { column: 'updated_at', codec: time }),
  /** Whether its account is suspended, so that only admins see it. See `visibility.ts`. */
  hidden: field(Type.Boolean(), { column: 'hidden', codec: booleanAsInteger, generated: true, view: 'row' }),
  version: field(Type.Integer(), { column: 'version', generated: true, view: 'row' }),
  etag: field(Type.String({ description: 'The entity tag of the organization, to send in `If-Match`.' }), {
    derive: etagOf,
  }),
};

/** The columns of queries over organizations. */
export const organizationColumns = columnsFor(organizationFields);

/** Conversions between JSON values and rows of organizations. */
export const organizationValues = valuesFor(organizationFields);

/** An organization as it is stored. */
export type OrganizationRow = RowOf<typeof organizationFields>;

/** Returns an organization as a response. @param publicUrl the beginning of photo URLs; if empty, they are paths */
export function organizationOf(row: OrganizationRow, publicUrl: string): Organization {
  const { photos, ...organization } = organizationValues.fullOf(row);
  return { ...organization, ...(photos && { photos: photos.map(photo => photoOf(photo, publicUrl)) }) };
}

/** The recorded fields of an organization, as events store them. */
export type OrganizationState = StateOf<typeof organizationFields>;

/** The body that publishes or replaces an organization. An `id` in it is ignored. */
export const NewOrganization = newSchema(
  organizationFields,
  'NewOrganization',
  'The public profile of an account that has animals.',
);
export type NewOrganization = Static<typeof NewOrganization>;

/** The body that changes an organization: a JSON Merge Patch (RFC 7396). */
export const OrganizationPatch = patchSchema(organizationFields, 'OrganizationPatch');
export type OrganizationPatch = Static<typeof OrganizationPatch>;

export const Organization = fullSchema(
  organizationFields,
  'Organization',
  'The public profile of an account that has animals.',
);
export type Organization = Static<typeof Organization>;

/** A page of organizations. */
export const Organizations = Type.Array(Organization, { title: 'Organizations', description: 'Organizations.' });

/**
 * The maximum length of the key by which names are compared, in code points: less than the engines allow in an index.
 */
export const KEY_LENGTH_MAX = 100;

/** Returns the key by which a name, or the beginning of a name, is compared: without case and accents. */
export function foldedName(name: string): string {
  return [...foldedText(name)].slice(0, KEY_LENGTH_MAX).join('');
}

export const organization = {
  tag: {
    name: 'Organizations',
    description: 'The public profiles of the accounts that have animals.',
    group: 'Catalogue',
  },
  table: {
    name: 'organizations',
    fields: organizationFields,
    accounts: ['id'],
    checks: {
      'versions of organizations': () => sql`
        select 'Organization ' || id || ' has version ' || version || ', but ' || count(subject_id) || ' events.' as finding
        from organizations left join (select subject_id from events where kind = 'organization') as logged on subject_id = id
        group by id, version having version <> count(subject_id)`,
    },
  },
  events: {
    actions: { created: 'creates', updated: 'changes', deleted: 'deletes' },
    scopes: ['pets:read', 'events:read'],
    visibleTo: 'everyone',
    belongsTo: 'owners',
    data: recordedSchema(
      organizationFields,
      'OrganizationEventData',
      'An organization after the change, or before its deletion, without its hours and long texts. Once its account is deleted, the event has no fields.',
      { id: organizationFields.id.schema },
    ),
  },
  exported: { organization: null },
  deletion: ['organization'],
  commands: {
    list: {
      list: {
        columns: ['name', 'city', 'state', 'country', 'updatedAt'],
        noun: 'organizations',
        hint: 'accounts publish them with PUT /v1/organizations/ID, or on their page.',
      },
      examples: { '--country US --sort name': 'the organizations of a country, by name' },
    },
    show: { examples: { '7': 'the organization of the account 7, if it has published one' } },
    publish: {
      operation: 'replaceOrganization',
      details:
        'Acts for the account with this id. If the account has already published an organization, all its fields are replaced.',
      examples: {
        '7 --name "Maple Lane Dog Rescue" --address \'{"city":"Springfield","country":"US"}\'':
          'the organization of the account 7',
      },
    },
    update: {
      details: 'Fields without an option stay as they are.',
      examples: {
        '7 --phone "+1 555 0100" --hours \'{"sunday":"closed"}\'': 'change the phone number and the hours of Sunday',
        '7 --website none': 'remove its website',
      },
    },
    delete: {
      reads: 'getOrganization',
      details:
        'Deletes without asking. The animals of the account stay, and the account can publish the organization again.',
      examples: { '7': 'a profile that misleads people' },
      done: ({ id, name }) => `Deleted the organization ${id}, ${name}.`,
    },
  },
} as const satisfies Noun;
