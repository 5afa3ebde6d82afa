import { example } from '../../access/deployment.ts';
import { LIMIT_DEFAULT } from '../../lib/http/pagination/list-operation.ts';
import { spelled } from '../../lib/text.ts';

const published = ['replaceOrganization: a shelter'];
const path = { organizationId: '1' };
const one = { given: published, path };

const shelter = {
  name: 'Maple Lane Dog Rescue',
  address: { line1: '12 Maple Lane', city: 'Springfield', state: 'IL', postalCode: '62701', country: 'US' },
  location: { latitude: 39.7990175, longitude: -89.6439575 },
  phone: '+1 555 0100',
  email: 'hello@maple-lane.example',
  website: 'https://maple-lane.example/',
  hours: { saturday: '10:00–16:00', sunday: 'by appointment' },
  mission: 'A home for every dog of the county.',
  adoption: { policy: 'Visit us twice, then take your dog home.', url: 'https://maple-lane.example/adopt' },
  socialMedia: ['https://social.example/@maplelane'],
};

export const listExamples = [
  example('first page', `The first ${spelled(LIMIT_DEFAULT)} organizations`, 200, { given: published }),
  example('by name in a state', 'Organizations of a state whose names begin with a text, by name', 200, {
    given: published,
    query: 'name=maple&country=US&state=IL&sort=name',
  }),
  example('unknown country', 'Countries have two letters', 'invalid_parameter', { query: 'country=Neverland' }),
];

export const getExamples = [
  example('one organization', 'The organization of account 1', 200, one),
  example('unpublished', 'An account without an organization', 'organization_not_found', { path }),
];

export const replaceExamples = [
  example('fewer fields', 'A replacement deletes the fields that it leaves out', 200, {
    ...one,
    body: { name: 'Maple Lane', address: { country: 'US' } },
  }),
  example('a shelter', 'Publish the organization of your account', 201, { path, body: shelter }),
  example('name only', 'A name is enough', 201, { path, body: { name: 'Maple Lane Dog Rescue' } }),
  example('published meanwhile', 'Publish only if there is none yet', 'precondition_failed', {
    ...one,
    headers: { 'If-None-Match': '*' },
    body: shelter,
  }),
  example('invalid body', 'A location needs both coordinates, and links begin with http', 'invalid_body', {
    path,
    body: { ...shelter, location: { latitude: 95 }, website: 'maple-lane.example' },
  }),
  example('another account', 'Each account has its own organization', 'not_owner', {
    path,
    body: shelter,
    as: 'stranger',
  }),
];

export const updateExamples = [
  example('new hours', 'Change one day and the phone number, and delete the policy', 200, {
    ...one,
    body: { phone: '+1 555 0199', hours: { sunday: 'closed' }, adoption: { policy: null } },
  }),
  example('lost update', 'Another caller has changed the organization since', 'precondition_failed', {
    given: [...published, 'updateOrganization: new hours'],
    path,
    headers: { 'If-Match': '"1.1"' },
    body: { name: 'Maple Lane' },
  }),
  example('address without a country', 'An address needs a country', 'invalid_body', {
    given: ['replaceOrganization: name only'],
    path,
    body: { address: { city: 'Springfield' } },
  }),
];

export const removeExamples = [
  example('one organization', 'Delete the organization of your account', 204, one),
  example('another account', 'Only the account itself or an admin can do this', 'not_owner', {
    ...one,
    as: 'stranger',
  }),
];
