import { isCountry } from '../../lib/countries.ts';
import { etagOf } from '../../lib/etag.ts';
import { html } from '../../lib/html/html.ts';
import type { Problem } from '../../lib/http/problem.ts';
import { BodyReader } from '../../lib/http/server/validation.ts';
import {
  NewOrganization,
  OrganizationPatch,
  type OrganizationRow,
  organizationOf,
  organizationValues,
  weekdays,
} from '../../model/organization.ts';
import type { Reader } from '../../model/schema.ts';
import { findOrganization, replaceOrganization, updateOrganization } from '../../store/organizations/organizations.ts';
import { locationOfPostalCode } from '../../store/places/postal-codes.ts';
import { assertFormProblem, checkOf, form, hidden, notice } from '../forms.ts';
import { type AccountVisit, accountPage, ownActor, type View } from '../page.ts';
import { ORGANIZATION_PATH } from '../paths.ts';
import { ownPhotosView } from '../photos/own-photos.ts';
import { LONG_FORM_BYTES_MAX, readChecked, SchemaForm, type Texts, wordsOf } from '../schema-form.ts';

const labels: Readonly<Record<string, string>> = {
  'address/line1': 'Street and number',
  'address/line2': 'More of the address',
  'address/city': 'City',
  'address/state': 'State or region',
  'address/postalCode': 'Postal code',
  'address/country': 'Country',
  'location/latitude': 'Latitude',
  'location/longitude': 'Longitude',
  email: 'E-mail',
  ...Object.fromEntries(weekdays.map(day => [`hours/${day}`, wordsOf(day)])),
  'adoption/policy': 'How to adopt',
  'adoption/url': 'Page about adoptions',
  socialMedia: 'Social media',
};

const organizationForm = new SchemaForm(NewOrganization, {
  labelOf: ([name, member]) => labels[member === undefined ? name! : `${name}/${member}`],
  hints: {
    'address/postalCode': 'People near you find your animals by the postal code and the country.',
    'address/country': 'Two letters, such as US.',
    email: 'The e-mail address of your account is never shown.',
    website: 'Such as https://example.org',
  },
  groups: {
    location: {
      legend: 'Exact place',
      hint: 'Degrees north of the equator and east of Greenwich, such as 39.78 and -89.65. If they are empty, the location of the postal code is used.',
    },
    hours: { legend: 'Hours', hint: 'Such as 10:00–17:00, or closed.' },
  },
  required: ['name'],
});

/** Publishes and edits the organization of the account. */
export const ownOrganizationPage = accountPage({
  path: ORGANIZATION_PATH,
  permission: 'organization',
  shownFor: 'read',
  title: 'Your organization',
  formBytesMax: LONG_FORM_BYTES_MAX,
  menu: 'desk',
  menuItem: { text: 'Organization' },
  async show(visit) {
    const own = await findOrganization(visit.deployment.database, visit.account.id);
    return formView(visit, textsOf(own), own);
  },
  async submit(visit) {
    const { deployment, account, origin } = visit;
    const own = await findOrganization(deployment.database, account.id);
    const shown = textsOf(own);
    const texts = await withPlace(deployment.database, organizationForm.textsIn(visit.form), shown);
    const changes = organizationForm.changesIn(texts, shown);
    if (own !== undefined && Object.keys(changes).length === 0) return SAVED;
    const actor = ownActor(visit);
    const check = checkOf(visit, 'organization');
    try {
      await deployment.database.write(
        async tx =>
          own === undefined
            ? replaceOrganization(tx, actor, account.id, readChecked<NewOrganization>(newOrganization, changes), check)
            : updateOrganization(
                tx,
                actor,
                account.id,
                readChecked<OrganizationPatch>(organizationPatch, changes),
                check,
              ),
        origin,
      );
      return SAVED;
    } catch (error) {
      assertFormProblem(error);
      return formView(visit, texts, own, error);
    }
  },
});

const SAVED = { location: `${ORGANIZATION_PATH}?saved=yes` };
const newOrganization = new BodyReader(NewOrganization);
const organizationPatch = new BodyReader(OrganizationPatch);

function textsOf(own: OrganizationRow | undefined): Texts {
  return organizationForm.textsOf(own === undefined ? {} : organizationValues.fullOf(own));
}

/**
 * Returns the texts with the place of the postal code, if no place was entered or if the shown place belonged to an
 * earlier postal code.
 */
async function withPlace(reader: Reader, sent: Texts, shown: Texts): Promise<Texts> {
  const isEmpty = latitudeOf(sent) === '' && longitudeOf(sent) === '';
  const isKept = latitudeOf(sent) === latitudeOf(shown) && longitudeOf(sent) === longitudeOf(shown);
  if (!isEmpty && !isKept) return sent;
  const place = await placeOf(reader, sent);
  if (isEmpty) return { ...sent, ...place };
  const earlier = await placeOf(reader, shown);
  return earlier !== undefined &&
    latitudeOf(earlier) === latitudeOf(shown) &&
    longitudeOf(earlier) === longitudeOf(shown)
    ? { ...sent, [LATITUDE]: '', [LONGITUDE]: '', ...place }
    : sent;
}

const LATITUDE = 'location/latitude';
const LONGITUDE = 'location/longitude';
const latitudeOf = (texts: Texts) => texts[LATITUDE];
const longitudeOf = (texts: Texts) => texts[LONGITUDE];

/** Returns the place of the postal code and the country; `undefined` if it is unknown. */
async function placeOf(reader: Reader, texts: Texts): Promise<Texts | undefined> {
  const { 'address/postalCode': code = '', 'address/country': country = '' } = texts;
  const point = code === '' || !isCountry(country) ? undefined : await locationOfPostalCode(reader, country, code);
  return point && { [LATITUDE]: String(point.latitude), [LONGITUDE]: String(point.longitude) };
}

function formView(visit: AccountVisit, texts: Texts, own: OrganizationRow | undefined, error?: Problem): View {
  const errors = error?.errors ?? [];
  const etag = visit.form.get('etag') ?? (own === undefined ? '' : etagOf(own));
  const publicLink =
    own &&
    html`<p><a href="/organizations/${own.id}">Public page of your organization</a> · <a href="#photos">Photos</a></p>`;
  return {
    description: 'Publish the profile of your shelter.',
    errors: organizationForm.errorsOf(error),
    styles: ['animals.css', 'photos.css'],
    ...(own !== undefined && { scripts: ['upload.js'] }),
    body: html`${error === undefined && visit.query.has('saved') && notice('status', html`<p>Your organization is saved.</p>`)}
<p>Everyone sees what you enter here on the page of your organization, beside your animals.</p>
${publicLink}
${form(visit, { action: ORGANIZATION_PATH, submit: own === undefined ? 'Publish' : 'Save' }, [
  hidden('etag', etag),
  organizationForm.fieldsView(texts, errors),
])}
${own && ownPhotosView(visit, organizationOf(own, ''), 'organization')}
${publicLink}`,
  };
}
