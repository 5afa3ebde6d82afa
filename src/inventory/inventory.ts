import Type from 'typebox';

/** The number of pets in each status, as the classic pet store reports it. */
export const Inventory = Type.Object(
  { available: count(), pending: count(), sold: count() },
  { title: 'Inventory', description: 'How many animals there are in each status.' },
);

function count() {
  return Type.Integer({ format: 'int64', minimum: 0 });
}
