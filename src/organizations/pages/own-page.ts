import { etagOf } from '../../lib/etag.ts';
import { html } from '../../lib/html/html.ts';
import { Problem } from '../../lib/http/problem.ts';
import { BodyReader } from '../../lib/http/server/validation.ts';
import { ownPhotosView } from '../../photos/pages/own-photos.ts';
import { checkOf, form, notice } from '../../web/forms.ts';
import { type AccountVisit, accountPage, type View } from '../../web/page.ts';
import { LONG_FORM_BYTES_MAX, readChecked, SchemaForm, type Texts, wordsOf } from '../../web/schema-form.ts';
import {
  NewOrganization,
  OrganizationPatch,
  type OrganizationRow,
  organizationOf,
  organizationValues,
  weekdays,
} from '../organization.ts';
import { findOrganization, replaceOrganization, updateOrganization } from '../organizations.ts';

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
  ...Object.fromEntries(weekdays.map(day => [`hours/${day}`, `Hours on ${wordsOf(day)}`])),
  'adoption/policy': 'How to adopt',
  'adoption/url': 'Page about adoptions',
  socialMedia: 'Social media',
};

const organizationForm = new SchemaForm(NewOrganization, {
  labelOf: ([name, member]) => labels[member === undefined ? name! : `${name}/${member}`],
  hints: {
    'address/country': 'Two letters, such as US.',
    'location/latitude': 'Degrees north of the equator, such as 39.78. People near you find your animals by it.',
    'location/longitude': 'Degrees east of Greenwich, such as -89.65.',
    email: 'That of your account is never shown.',
    website: 'Such as https://example.org',
    'hours/monday': 'Such as 10:00–17:00, or closed.',
  },
  required: ['name'],
});

/** Publishes and edits the organization of the account. */
export const ownOrganizationPage = accountPage({
  path: '/shelter/organization',
  title: 'Your organization',
  formBytesMax: LONG_FORM_BYTES_MAX,
  menu: 'account',
  async show(visit) {
    const own = await findOrganization(visit.deployment.database, visit.account.id);
    return formView(visit, textsOf(own), own);
  },
  async submit(visit) {
    const { deployment, account, origin } = visit;
    const own = await findOrganization(deployment.database, account.id);
    const texts = organizationForm.textsIn(visit.form);
    const changes = organizationForm.changesIn(texts, textsOf(own));
    if (own !== undefined && Object.keys(changes).length === 0) return SAVED;
    const actor = { accountId: account.id, admin: false };
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
      if (!(error instanceof Problem) || error.status >= 500) throw error;
      return formView(visit, texts, own, error);
    }
  },
});

const SAVED = { location: '/shelter/organization?saved=yes' };
const newOrganization = new BodyReader(NewOrganization);
const organizationPatch = new BodyReader(OrganizationPatch);

function textsOf(own: OrganizationRow | undefined): Texts {
  return organizationForm.textsOf(own === undefined ? {} : organizationValues.fullOf(own));
}

function formView(visit: AccountVisit, texts: Texts, own: OrganizationRow | undefined, error?: Problem): View {
  const errors = error?.errors ?? [];
  const others = organizationForm.otherErrors(errors).map(({ message }) => message);
  const message = errors.length === 0 ? error?.message : ['Some fields need another value.', ...others].join(' ');
  const etag = visit.form.get('etag') ?? (own === undefined ? '' : etagOf(own));
  const publicLink =
    own &&
    html`<p><a href="/organizations/${own.id}">Public page of your organization</a> · <a href="#photos">Photos</a></p>`;
  return {
    description: 'Publish the profile of your shelter.',
    ...(error !== undefined && { status: 422 }),
    styles: ['animals.css'],
    ...(own !== undefined && { scripts: ['upload.js'] }),
    body: html`${error === undefined && visit.query.has('saved') && notice('status', html`<p>Your organization is saved.</p>`)}
${message !== undefined && notice('alert', message)}
<p>Everyone sees what you enter here on the page of your organization, beside your animals.</p>
${publicLink}
${form(visit, { action: '/shelter/organization', submit: own === undefined ? 'Publish' : 'Save' }, [
  html`<input type="hidden" name="etag" value="${etag}">`,
  organizationForm.fieldsView(texts, errors),
])}
${own && ownPhotosView(visit, organizationOf(own, ''), 'organization')}
${publicLink}`,
  };
}
