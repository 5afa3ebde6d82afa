import type { Deployment } from '../../access/deployment.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import type { Page } from '../../lib/http/pagination/paginate.ts';
import { countText, NAME_LENGTH_MAX, nameError } from '../../lib/text.ts';
import { UserError } from '../../lib/user-error.ts';
import { type CategoryRow, SLUG_LENGTH_MAX } from '../../model/category.ts';
import type { Database, DeploymentName } from '../../model/schema.ts';
import { getCategory, updateCategory } from '../../store/categories/categories.ts';
import { listCategories } from '../../store/categories/list.ts';
import { categoryPaths, type NamedCategory } from '../../store/categories/paths.ts';
import { withSlugConflict } from '../../store/categories/slugs.ts';
import { mergeCategory, movingAhead } from '../../store/category-merge/merge.ts';
import { countByCategory } from '../../store/pets/counts.ts';
import { deploymentOf, withQuery } from '../deployments.ts';
import { doneNotice, fieldsOf, form, notice } from '../forms.ts';
import { idOf, listPage } from '../lists.ts';
import type { AccountVisit, View } from '../page.ts';
import { badge, type Columns, facts, table } from '../parts.ts';
import { operatorList } from './list.ts';
import { accountLink, actorOf, styles } from './parts.ts';
import { type Errors, resourcePages } from './resource.ts';

const PATH = '/operator/categories';

/** The categories of a deployment with the numbers of their animals, placeholders first. */
export const categoriesPage = operatorList({
  path: PATH,
  title: 'Categories',
  menu: 'operator',
  perDeployment: true,
  intro: ({ query }) => query.has('merged') && notice('status', html`<p>The category is merged into this one.</p>`),
  async between(visit) {
    const { database, name: deployment } = visit.deployment;
    const { parentId, placeholder } = partOf(visit);
    if (parentId !== undefined || placeholder)
      return html`<p><a href="${withQuery(PATH, { deployment })}">All categories</a></p>`;
    const first = listPage(visit, 10);
    if (first.cursor !== undefined) return undefined;
    const waiting = await withCounts(database, listCategories(database, { placeholder: true }, first));
    if (waiting.rows.length === 0) return undefined;
    const all = withQuery(PATH, { deployment, show: 'placeholders' });
    return html`<h2>Placeholders</h2>
<p>Animals named these unknown ids. Give each category a name, or merge it into another category.</p>
${table('Placeholders', categoryColumns(deployment), waiting.rows)}
${waiting.next !== undefined && html`<p><a href="${all}">All placeholders</a></p>`}
<h2>All categories</h2>`;
  },
  read(visit, _, page) {
    const { database } = visit.deployment;
    return withCounts(database, listCategories(database, partOf(visit), page));
  },
  caption: 'Categories',
  columns: ({ deployment }) => categoryColumns(deployment.name),
  empty: 'There are none.',
});

const SLUG = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const SLUG_RULE = `The slug has lower-case letters and digits with single hyphens, at most ${SLUG_LENGTH_MAX} characters.`;

const doneTexts = {
  renamed: 'The category is changed.',
  merged: 'The other category is merged into this one.',
};

interface Found {
  readonly deployment: Deployment;
  readonly category: CategoryRow;
}

/** A category, with the forms to rename and to merge it. */
export const categoryPages = resourcePages<Found, 'name' | 'slug' | 'into'>({
  path: `${PATH}/{categoryId}`,
  title: 'Category',
  async find(visit) {
    const id = idOf(visit.parameters['categoryId']);
    const deployment = deploymentOf(visit);
    if (id === undefined || deployment === undefined) return undefined;
    return { deployment, category: await getCategory(deployment.database, id) };
  },
  view: categoryView,
  forms: {
    '': {
      wrong({ form }) {
        const error = nameError(form.get('name') ?? '');
        const slug = slugIn(form);
        return {
          name: error && `The name ${error}.`,
          slug: slug.length > SLUG_LENGTH_MAX || !SLUG.test(slug) ? SLUG_RULE : undefined,
        };
      },
      about: 'slug',
      async work(visit, { deployment: { database }, category: { id } }) {
        const changes = { name: visit.form.get('name') ?? '', slug: slugIn(visit.form) };
        await withSlugConflict(changes.slug, () =>
          database.write(tx => updateCategory(tx, actorOf(visit), id, changes), visit.origin),
        );
        return 'renamed';
      },
    },
    // Moves the content of the category into another category, and deletes it.
    merge: {
      title: 'Merge a category',
      about: 'into',
      async work(visit, { deployment, category: { id } }) {
        const { database, name } = deployment;
        const intoId = await targetOf(deployment, visit.form.get('into')?.trim() ?? '');
        const merge = { id, intoId };
        const actor = actorOf(visit);
        const once = () => database.write(tx => mergeCategory(tx, actor, merge), visit.origin);
        await movingAhead(database, actor, merge, once, visit.origin);
        return { location: withQuery(`${PATH}/${intoId}`, { deployment: name, done: 'merged' }) };
      },
    },
  },
});

/**
 * Returns the id of the category with this id or slug.
 * @throws {UserError}
 */
async function targetOf({ database }: Deployment, text: string): Promise<number> {
  const id = idOf(text);
  if (id !== undefined) return id;
  const rows = SLUG.test(text) ? (await listCategories(database, { slug: text }, { limit: 1 })).rows : [];
  if (rows[0] === undefined)
    throw new UserError(`There is no category ${JSON.stringify(text)}. Enter the id or the slug of a category.`);
  return rows[0].id;
}

/** Returns the slug of a form. */
function slugIn(form: URLSearchParams): string {
  return form.get('slug')?.trim() ?? '';
}

async function categoryView(
  visit: AccountVisit,
  { deployment, category }: Found,
  errors?: Errors<'name' | 'slug' | 'into'>,
): Promise<View> {
  const { database, name: on } = deployment;
  const { id, name, slug, placeholder, creatorId, createdAt } = category;
  const path = (await categoryPaths(database, [id])).get(id) ?? [];
  const animals = (await countByCategory(database, [id])).get(id) ?? 0;
  const children = await listCategories(database, { parentId: id }, { limit: 1 });
  const field = fieldsOf(visit, errors);
  const action = (path: string) => withQuery(path, { deployment: on });
  const done = doneNotice(visit, doneTexts);
  return {
    title: name,
    styles,
    errors,
    body: html`${errors === undefined && done}
<p><a href="${action(PATH)}">All categories on ${on}</a></p>
${placeholder === 1 && html`<p>${badge('warn', 'Placeholder')} An animal named this unknown id. Save a name to keep the category.</p>`}
${facts([
  ['Id', html`<code>${id}</code>`],
  ['Path', pathText(path)],
  ['Animals', countText(animals)],
  [
    'Subcategories',
    children.rows.length === 0
      ? 'None'
      : html`<a href="${withQuery(PATH, { deployment: on, parent: id })}">Show them</a>`,
  ],
  ['Created by', accountLink(creatorId) ?? 'The operator'],
  ['Created', createdAt === 0 ? 'Built in' : timeHtml(createdAt)],
])}
<h2>Name</h2>
${form(visit, { action: action(`${PATH}/${id}`), submit: 'Save' }, [
  field('name', 'Name', { value: name, maxLength: NAME_LENGTH_MAX }),
  field('slug', 'Slug', { value: slug, hint: 'Its unique short name for URLs.', maxLength: SLUG_LENGTH_MAX }),
])}
<h2>Merge</h2>
<p>Moves its ${countText(animals)} ${animals === 1 ? 'animal' : 'animals'} and its subcategories into another category, and deletes this one. You cannot undo this.</p>
${form(visit, { action: action(`${PATH}/${id}/merge`), submit: 'Merge category', danger: true }, [
  field('into', 'Merge into', { hint: 'The id or the slug of the other category.' }),
])}`,
  };
}

/** Returns the categories that the address asks for: those within another one, placeholders only, or all. */
function partOf({ query }: AccountVisit) {
  return {
    parentId: idOf(query.get('parent')),
    ...(query.get('show') === 'placeholders' && { placeholder: true }),
  };
}

interface CountedCategory extends CategoryRow {
  readonly animals: number;
  readonly within: readonly NamedCategory[];
}

/** Returns a page of categories with the numbers of their animals and the categories that they are within. */
async function withCounts(database: Database, found: Promise<Page<CategoryRow>>): Promise<Page<CountedCategory>> {
  const { rows, ...links } = await found;
  const ids = rows.map(({ id }) => id);
  const [counts, paths] = [await countByCategory(database, ids), await categoryPaths(database, ids)];
  const counted = rows.map(row => ({
    ...row,
    animals: counts.get(row.id) ?? 0,
    within: (paths.get(row.id) ?? []).slice(0, -1),
  }));
  return { ...links, rows: counted };
}

function categoryColumns(deployment: DeploymentName): Columns<CountedCategory> {
  return {
    Name: ({ id, name, placeholder }) =>
      html`<a href="${withQuery(`${PATH}/${id}`, { deployment })}"><bdi>${name}</bdi></a>${placeholder === 1 && html` ${badge('warn', 'Placeholder')}`}`,
    Id: ({ id }) => id,
    Slug: ({ slug }) => html`<code>${slug}</code>`,
    Animals: ({ animals }) => countText(animals),
    Within: ({ within }) => pathText(within),
    'Created by': ({ creatorId }) => accountLink(creatorId),
  };
}

function pathText(path: readonly NamedCategory[]): Html {
  return html`${path.map(({ name }, index) => html`${index > 0 && ' › '}<bdi>${name}</bdi>`)}`;
}
