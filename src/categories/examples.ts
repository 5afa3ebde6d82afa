import type { Example } from '../lib/http/route.ts';

export const listExamples: readonly Example[] = [
  { name: 'first page', summary: 'The built-in categories', status: 200 },
  { name: 'by slug', summary: 'The category with a slug', query: 'slug=scales-fins-other', status: 200 },
  {
    name: 'subcategories',
    summary: 'The subcategories of cats',
    given: ['createCategory: a subcategory'],
    query: 'parentId=2',
    status: 200,
  },
  {
    name: 'invalid parent',
    summary: 'No category has id 0',
    query: 'parentId=0',
    status: 400,
    code: 'invalid_parameter',
  },
];

export const createExamples: readonly Example[] = [
  {
    name: 'a subcategory',
    summary: 'A subcategory with a slug derived from its name',
    body: { name: 'Maine Coon', parentId: 2 },
    status: 201,
  },
  {
    name: 'with a slug',
    summary: 'A top-level category with a slug of its own',
    body: { name: 'Hedgehogs & Friends', slug: 'hedgehogs' },
    status: 201,
  },
  {
    name: 'slug taken',
    summary: 'Another category has the slug',
    body: { name: 'Wild cats', slug: 'cat' },
    status: 409,
    code: 'category_slug_taken',
  },
  {
    name: 'unknown parent',
    summary: 'The parent does not exist',
    body: { name: 'Unicorns', parentId: 4711 },
    status: 400,
    code: 'category_not_found',
  },
  {
    name: 'invalid slug',
    summary: 'The slug contains capitals and a space',
    body: { name: 'Hedgehogs', slug: 'Hedge hogs' },
    status: 400,
    code: 'invalid_body',
  },
];

const cats = { categoryId: '2' };
const subcategory = { given: ['createCategory: a subcategory'], path: { categoryId: '1001' } };
const placeholder = { given: ['createPet: a new category'], path: { categoryId: '9000' } };

export const getExamples: readonly Example[] = [
  { name: 'one category', summary: 'The category with id 2', path: cats, status: 200 },
  { name: 'a placeholder', summary: 'A category that an animal created', ...placeholder, status: 200 },
  {
    name: 'unknown category',
    summary: 'No category has this id',
    path: { categoryId: '999999999' },
    status: 404,
    code: 'no_such_category',
  },
];

export const updateExamples: readonly Example[] = [
  {
    name: 'to the top level',
    summary: 'A subcategory becomes a top-level category',
    ...subcategory,
    body: { name: 'Maine Coons', parentId: null },
    status: 200,
  },
  {
    name: 'naming a placeholder',
    summary: 'An admin names a category that an animal created',
    as: 'admin',
    ...placeholder,
    body: { name: 'Alpacas', slug: 'alpacas' },
    status: 200,
  },
  {
    name: 'outdated version',
    summary: 'The category changed after the version in `If-Match`',
    given: ['createCategory: a subcategory', 'updateCategory: to the top level'],
    path: { categoryId: '1001' },
    headers: { 'If-Match': '"1001.1"' },
    body: { name: 'Coon cats' },
    status: 412,
    code: 'precondition_failed',
  },
  {
    name: 'cycle',
    summary: 'The new parent is a descendant',
    as: 'admin',
    given: subcategory.given,
    path: cats,
    body: { parentId: 1001 },
    status: 409,
    code: 'category_cycle',
  },
  {
    name: 'built-in category',
    summary: 'Only admins change built-in categories',
    path: cats,
    body: { name: 'Felines' },
    status: 403,
    code: 'not_owner',
  },
];

export const deleteExamples: readonly Example[] = [
  { name: 'an empty category', summary: 'A category without animals', ...subcategory, status: 204 },
  {
    name: 'in use',
    summary: 'The category has animals',
    as: 'admin',
    path: cats,
    status: 409,
    code: 'category_in_use',
  },
];
