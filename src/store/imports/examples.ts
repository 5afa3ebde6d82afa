import { example } from '../../access/deployment.ts';

const csv = (text: string) => ({
  name: 'pets.csv',
  contentType: 'text/csv',
  base64: Buffer.from(text).toString('base64'),
});

const path = { importId: '1' };
const given = ['importPets: a file'];

export const createExamples = [
  example('a file', 'Adds the animals whose identifiers are new, and changes the others', 202, {
    file: csv('externalId,name,categoryId,goodWith.cats\r\nA-117,Bella,1,yes\r\nA-118,Milo,2,unknown\r\n'),
  }),
  example('dry run', 'Find out what a file would change', 202, {
    query: 'dryRun=true&mode=replace',
    file: csv('externalId,name,categoryId\r\nA-117,Bella,1\r\n'),
  }),
  example('NDJSON', 'One animal per line', 202, {
    file: {
      name: 'pets.ndjson',
      contentType: 'application/x-ndjson',
      base64: Buffer.from('{"externalId":"A-117","name":"Bella","categoryId":1}\n').toString('base64'),
    },
  }),
  example('no CSV', 'A quotation mark is missing', 'invalid_import', {
    file: csv('externalId,name,categoryId\r\nA-117,"Bella,1\r\n'),
  }),
];

export const listExamples = [
  example('imports', 'The imports of your account', 200, { given }),
  example('none', 'Another account does not see them', 200, { given, as: 'stranger' }),
];

export const getExamples = [
  example('an import', 'The progress of the import, and what is wrong with the file', 200, { given, path }),
  example('another account', 'An import belongs to one account', 'import_not_found', { given, path, as: 'stranger' }),
];

export const errorExamples = [example('errors', 'One line for each error', 200, { given, path })];

export const cancelExamples = [
  example('an import', 'The changes of an import stay; this import has already ended', 200, { given, path }),
  example('unknown', 'There is no such import', 'import_not_found', { path }),
];
