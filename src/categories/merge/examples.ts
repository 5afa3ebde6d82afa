import type { Example } from '../../lib/http/route.ts';

export const mergeExamples: readonly Example[] = [
  {
    name: 'a placeholder into a usual one',
    summary: 'An animal’s new category turns out to be an old one',
    as: 'admin',
    given: ['createPet: a new category'],
    path: { categoryId: '9000' },
    body: { intoId: 4 },
    status: 200,
  },
  {
    name: 'below itself',
    summary: 'What is below a category cannot take it over',
    as: 'admin',
    given: ['createCategory: a kind of cat'],
    path: { categoryId: '2' },
    body: { intoId: 1001 },
    status: 409,
    code: 'category_cycle',
  },
  {
    name: 'no such target',
    summary: 'The category to merge into does not exist',
    as: 'admin',
    path: { categoryId: '2' },
    body: { intoId: 4711 },
    status: 400,
    code: 'category_not_found',
  },
  {
    name: 'no admin',
    summary: 'Only admins merge categories',
    path: { categoryId: '2' },
    body: { intoId: 1 },
    status: 403,
    code: 'not_owner',
  },
];
