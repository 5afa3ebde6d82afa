import { nowOf } from '../../access/deployment.ts';
import { html } from '../../lib/html/html.ts';
import type { FullPet } from '../../model/pet.ts';
import { listPets } from '../../store/pets/list.ts';
import { doneNotice, notice } from '../forms.ts';
import { listPage, pageLinks } from '../lists.ts';
import { accountPage } from '../page.ts';
import { type Columns, table } from '../parts.ts';
import { beginLinks, noAnimalsView, statusBadges } from './parts.ts';
import { savedTexts } from './shelter-pages.ts';

/** The animals of the account. */
export const ownAnimalsPage = accountPage({
  path: '/shelter/animals',
  permission: 'read',
  title: 'Your animals',
  menu: 'desk',
  menuItem: { text: 'Animals' },
  async show(visit) {
    const { deployment, account } = visit;
    const filter = { ownerId: account.id, sort: '-id' } as const;
    const page = await listPets(deployment.database, filter, listPage(visit), nowOf(deployment), 'full');
    const isFirst = page.rows.length === 0 && !visit.query.has('cursor');
    return {
      description: 'Add and edit the animals of this account.',
      styles: isFirst ? ['animals.css'] : [],
      body: html`${doneNotice(savedTexts, visit.query.get('saved'))}${visit.query.has('deleted') && notice('status', html`<p>The animal is deleted.</p>`)}
${
  isFirst
    ? noAnimalsView
    : html`${beginLinks}
${table('Your animals', columns, page.rows, 'There are no further animals.')}
${pageLinks(visit, page)}`
}`,
    };
  },
});

const columns: Columns<FullPet> = {
  Name: ({ id, name }) => html`<a href="/shelter/animals/${id}"><bdi>${name}</bdi></a>`,
  Status: ({ status }) => statusBadges[status],
  Photos: ({ photos }) => photos?.length ?? 0,
  Page: ({ id, name }) => html`<a href="/animals/${id}" aria-label="Public page of ${name}">Public page</a>`,
};
