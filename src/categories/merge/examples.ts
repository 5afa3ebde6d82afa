import type { Example } from '../../lib/http/route.ts';

const cats = { categoryId: '2' };

export const mergeExamples: readonly Example[] = [
  {
    name: 'a placeholder',
    summary: 'A category that an animal created becomes part of a built-in one',
    as: 'admin',
    given: ['createPet: a new category'],
    path: { categoryId: '9000' },
    body: { intoId: 4 },
    status: 200,
  },
  {
    name: 'cycle',
    summary: 'The target is a descendant',
    as: 'admin',
    given: ['createCategory: a subcategory'],
    path: cats,
    body: { intoId: 1001 },
    status: 409,
    code: 'category_cycle',
  },
  {
    name: 'unknown target',
    summary: 'The target does not exist',
    as: 'admin',
    path: cats,
    body: { intoId: 4711 },
    status: 400,
    code: 'category_not_found',
  },
  {
    name: 'not an admin',
    summary: 'Only admins merge',
    path: cats,
    body: { intoId: 1 },
    status: 403,
    code: 'not_owner',
  },
];
