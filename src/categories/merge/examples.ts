import { example } from '../../deployment.ts';

const cats = { categoryId: '2' };

export const mergeExamples = [
  example('a placeholder', 'A category that an animal created becomes part of a built-in one', 200, {
    as: 'admin',
    given: ['createPet: a new category'],
    path: { categoryId: '9000' },
    body: { intoId: 4 },
  }),
  example('cycle', 'The target is a descendant', 'category_cycle', {
    as: 'admin',
    given: ['createCategory: a subcategory'],
    path: cats,
    body: { intoId: 1001 },
  }),
  example('unknown target', 'The target does not exist', 'category_not_found', {
    as: 'admin',
    path: cats,
    body: { intoId: 4711 },
  }),
  example('not an admin', 'Only admins merge', 'not_owner', { path: cats, body: { intoId: 1 } }),
];
