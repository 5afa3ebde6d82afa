import type { Example } from '../lib/http/route.ts';

export const listExamples: readonly Example[] = [
  { name: 'first page', summary: 'The usual categories', status: 200 },
  { name: 'by slug', summary: 'The category with a slug', query: 'slug=scales-fins-other', status: 200 },
  {
    name: 'directly below',
    summary: 'The kinds of cats',
    given: ['createCategory: a kind of cat'],
    query: 'parentId=2',
    status: 200,
  },
  {
    name: 'no parent',
    summary: 'There is no category 0',
    query: 'parentId=0',
    status: 400,
    code: 'invalid_parameter',
  },
];

export const createExamples: readonly Example[] = [
  {
    name: 'a kind of cat',
    summary: 'A category below another; its slug is made from its name',
    body: { name: 'Maine Coon', parentId: 2 },
    status: 201,
  },
  {
    name: 'with a slug',
    summary: 'A category at the top, with a slug of its own',
    body: { name: 'Hedgehogs & Friends', slug: 'hedgehogs' },
    status: 201,
  },
  {
    name: 'slug taken',
    summary: 'A slug that another category has',
    body: { name: 'Wild cats', slug: 'cat' },
    status: 409,
    code: 'category_slug_taken',
  },
  {
    name: 'no such parent',
    summary: 'A parent that does not exist',
    body: { name: 'Unicorns', parentId: 4711 },
    status: 400,
    code: 'category_not_found',
  },
  {
    name: 'no slug',
    summary: 'A slug in another form',
    body: { name: 'Hedgehogs', slug: 'Hedge hogs' },
    status: 400,
    code: 'invalid_body',
  },
];

export const getExamples: readonly Example[] = [
  { name: 'one category', summary: 'The category with the id 2', path: { categoryId: '2' }, status: 200 },
  {
    name: 'a placeholder',
    summary: 'A category that an animal named first',
    given: ['createPet: a new category'],
    path: { categoryId: '9000' },
    status: 200,
  },
  {
    name: 'no such category',
    summary: 'An id that no category has',
    path: { categoryId: '999999999' },
    status: 404,
    code: 'no_such_category',
  },
];

export const updateExamples: readonly Example[] = [
  {
    name: 'to the top',
    summary: 'A category leaves the one that it stands below',
    given: ['createCategory: a kind of cat'],
    path: { categoryId: '1001' },
    body: { name: 'Maine Coons', parentId: null },
    status: 200,
  },
  {
    name: 'a name for a placeholder',
    summary: 'An admin says what an animal’s new category is',
    as: 'admin',
    given: ['createPet: a new category'],
    path: { categoryId: '9000' },
    body: { name: 'Alpacas', slug: 'alpacas' },
    status: 200,
  },
  {
    name: 'changed meanwhile',
    summary: 'A change of a version that is gone',
    given: ['createCategory: a kind of cat', 'updateCategory: to the top'],
    path: { categoryId: '1001' },
    headers: { 'If-Match': '"1001.1"' },
    body: { name: 'Coon cats' },
    status: 412,
    code: 'precondition_failed',
  },
  {
    name: 'below itself',
    summary: 'A category cannot stand below itself',
    as: 'admin',
    given: ['createCategory: a kind of cat'],
    path: { categoryId: '2' },
    body: { parentId: 1001 },
    status: 409,
    code: 'category_cycle',
  },
  {
    name: 'a usual one',
    summary: 'The usual categories are changed by admins alone',
    path: { categoryId: '2' },
    body: { name: 'Felines' },
    status: 403,
    code: 'not_owner',
  },
];

export const removeExamples: readonly Example[] = [
  {
    name: 'an empty one',
    summary: 'A category that nothing is in',
    given: ['createCategory: a kind of cat'],
    path: { categoryId: '1001' },
    status: 204,
  },
  {
    name: 'one in use',
    summary: 'Animals are in it',
    as: 'admin',
    path: { categoryId: '2' },
    status: 409,
    code: 'category_in_use',
  },
];
