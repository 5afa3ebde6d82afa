import { example } from '../../access/deployment.ts';

export const listExamples = [
  example('first page', 'The built-in categories', 200),
  example('by slug', 'The category with a slug', 200, { query: 'slug=scales-fins-other' }),
  example('subcategories', 'The subcategories of cats', 200, {
    given: ['createCategory: a subcategory'],
    query: 'parentId=2',
  }),
  example('invalid parent', 'No category has id 0', 'invalid_parameter', { query: 'parentId=0' }),
];

export const createExamples = [
  example('a subcategory', 'A subcategory with a slug derived from its name', 201, {
    body: { name: 'Maine Coon', parentId: 2 },
  }),
  example('with a slug', 'A top-level category with a slug of its own', 201, {
    body: { name: 'Hedgehogs & Friends', slug: 'hedgehogs' },
  }),
  example('slug taken', 'Another category has the slug', 'category_slug_taken', {
    body: { name: 'Wild cats', slug: 'cat' },
  }),
  example('unknown parent', 'The parent does not exist', 'category_not_found', {
    body: { name: 'Unicorns', parentId: 4711 },
  }),
  example('invalid slug', 'The slug contains capitals and a space', 'invalid_body', {
    body: { name: 'Hedgehogs', slug: 'Hedge hogs' },
  }),
];

const cats = { categoryId: '2' };
const subcategory = { given: ['createCategory: a subcategory'], path: { categoryId: '1001' } };
const placeholder = { given: ['createPet: a new category'], path: { categoryId: '9000' } };

export const getExamples = [
  example('one category', 'The category with id 2', 200, { path: cats }),
  example('a placeholder', 'A category that an animal created', 200, placeholder),
  example('unknown category', 'No category has this id', 'no_such_category', { path: { categoryId: '999999999' } }),
];

export const updateExamples = [
  example('to the top level', 'A subcategory becomes a top-level category', 200, {
    ...subcategory,
    body: { name: 'Maine Coons', parentId: null },
  }),
  example('naming a placeholder', 'An admin names a category that an animal created', 200, {
    as: 'admin',
    ...placeholder,
    body: { name: 'Alpacas', slug: 'alpacas' },
  }),
  example('outdated version', 'The category changed after the version in `If-Match`', 'precondition_failed', {
    given: ['createCategory: a subcategory', 'updateCategory: to the top level'],
    path: { categoryId: '1001' },
    headers: { 'If-Match': '"1001.1"' },
    body: { name: 'Coon cats' },
  }),
  example('cycle', 'The new parent is a descendant', 'category_cycle', {
    as: 'admin',
    given: subcategory.given,
    path: cats,
    body: { parentId: 1001 },
  }),
  example('built-in category', 'Only admins change built-in categories', 'not_owner', {
    path: cats,
    body: { name: 'Felines' },
  }),
];

export const deleteExamples = [
  example('an empty category', 'A category without animals', 204, subcategory),
  example('in use', 'The category has animals', 'category_in_use', { as: 'admin', path: cats }),
];
