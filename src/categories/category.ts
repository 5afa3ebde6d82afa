import Type from 'typebox';

/** The id of a category: an integer from 1 to 2^53−1 (contract, NewPet `categoryId`; decisions, requests and answers). */
export const CategoryId = Type.Integer({
  format: 'int64',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Identifier of the category the animal belongs to.',
});
