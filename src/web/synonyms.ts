/** Synonyms of words of the API, by the word in the names of operations and guides. */
const synonyms: Readonly<Record<string, string>> = {
  list: 'find search browse filter query show all',
  get: 'find read fetch show retrieve look',
  create: 'add new make post insert',
  add: 'create new upload post insert',
  update: 'edit change modify set',
  replace: 'edit change put publish',
  delete: 'remove erase destroy',
  merge: 'combine join',
  pet: 'animal',
  photo: 'image picture upload',
  import: 'upload bulk csv ndjson migrate',
  export: 'download dump csv',
  place: 'buy adopt purchase checkout create',
  deliver: 'ship hand complete',
  approve: 'confirm accept',
  cancel: 'abort stop undo',
  return: 'refund bring back',
  hold: 'reserve reservation book',
  extend: 'renew prolong longer',
  release: 'cancel end unreserve',
  inventory: 'stock count',
  organization: 'shelter rescue contact',
  category: 'species breed kind type',
  event: 'log feed change',
  stream: 'sse server-sent live subscribe',
  webhook: 'callback hook notification',
  redeliver: 'resend retry replay again',
  rotate: 'renew replace',
  send: 'write contact ask email mail',
  message: 'contact email mail ask inquiry',
  usage: 'quota statistics consumption',
  audit: 'history trail',
};

/**
 * Returns the synonyms of the words in a camel-case name.
 * @param name such as `addPhoto`
 */
export function synonymsOf(name: string): string {
  const words = name.replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`).split(' ');
  return words.flatMap(word => synonyms[singular(word)] ?? []).join(' ');
}

/** Returns an English word without its plural ending, so that singular and plural are equal. */
export function singular(word: string): string {
  if (word.length <= 3 || !word.endsWith('s') || /[siu]s$/.test(word)) return word;
  return word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.slice(0, -1);
}
