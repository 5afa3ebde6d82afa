import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import SQLite from 'better-sqlite3';
import Fastify from 'fastify';
import { samplePets } from '../src/operate/seeds/pets.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/**
 * What an engineer would write in an afternoon: Fastify with better-sqlite3, a key that is found by its hash, a limit of
 * requests per minute, JSON schemas, and an event for each change. A response to a POST is sent once the pet is on disk.
 *
 * Arguments: an API key, and the number of pets. Prints its base URL.
 */
const [token = '', pets = '0'] = process.argv.slice(2);

interface NewPet {
  readonly name: string;
  readonly categoryId: number;
  readonly status?: string;
}

const directory = temporaryDirectory();
process.on('SIGTERM', () => process.exit());
const database = new SQLite(join(directory.path, 'pets.db'));
database.pragma('journal_mode = WAL');
database.pragma('synchronous = FULL');
database.exec(`
  CREATE TABLE keys (hash TEXT PRIMARY KEY, account TEXT NOT NULL, per_minute INTEGER NOT NULL) STRICT;
  CREATE TABLE pets (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, categoryId INTEGER NOT NULL, status TEXT NOT NULL,
    account TEXT NOT NULL, createdAt INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX pets_by_category ON pets (categoryId);
  CREATE INDEX pets_by_status ON pets (status);
  CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL, pet TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
`);
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');
const findKey = database.prepare<[string], { account: string; per_minute: number }>(
  'SELECT account, per_minute FROM keys WHERE hash = ?',
);
const insertPet = database.prepare(
  'INSERT INTO pets (name, categoryId, status, account, createdAt) VALUES (?, ?, ?, ?, ?)',
);
const insertEvent = database.prepare('INSERT INTO events (type, pet, at) VALUES (?, ?, ?)');
const findPet = database.prepare<[string]>('SELECT id, name, categoryId, status FROM pets WHERE id = ?');
const listPets = database.prepare<[number, number]>(
  'SELECT id, name, categoryId, status FROM pets WHERE id > ? ORDER BY id LIMIT ?',
);
const create = database.transaction((account: string, { name, categoryId, status = 'available' }: NewPet) => {
  const now = Date.now();
  const { lastInsertRowid } = insertPet.run(name, categoryId, status, account, now);
  const pet = { id: Number(lastInsertRowid), name, categoryId, status };
  insertEvent.run('pet.created', JSON.stringify(pet), now);
  return pet;
});

database.prepare('INSERT INTO keys VALUES (?, ?, ?)').run(hashOf(token), randomUUID(), 1_000_000_000);
database.transaction(() => {
  const samples = samplePets();
  for (let count = 0; count < Number(pets); count++) {
    const { name, categoryId, status } = samples[count % samples.length]!;
    insertPet.run(name, categoryId, status, '', Date.now());
  }
})();

const windows = new Map<string, { start: number; count: number }>();
const text = { type: 'string' };
const pet = {
  type: 'object',
  properties: { id: { type: 'integer' }, name: text, categoryId: { type: 'integer' }, status: text },
};
const newPet = {
  type: 'object',
  required: ['name', 'categoryId'],
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 100 },
    categoryId: { type: 'integer', minimum: 1 },
    status: { enum: ['available', 'pending', 'sold'] },
  },
};
const query = {
  type: 'object',
  properties: {
    after: { type: 'integer', default: 0 },
    limit: { type: 'integer', default: 20, minimum: 1, maximum: 100 },
  },
};

const fastify = Fastify();
fastify.decorateRequest('account', '');
fastify.addHook('onRequest', async (request, reply) => {
  const key = findKey.get(hashOf(request.headers.authorization?.replace('Bearer ', '') ?? ''));
  if (key === undefined) return reply.code(401).send({ code: 'invalid_api_key', message: 'The API key is not valid.' });
  const start = Math.floor(Date.now() / 60_000);
  let window = windows.get(key.account);
  if (window?.start !== start) {
    window = { start, count: 0 };
    windows.set(key.account, window);
  }
  window.count++;
  reply.header('X-RateLimit-Limit', key.per_minute);
  reply.header('X-RateLimit-Remaining', Math.max(0, key.per_minute - window.count));
  if (window.count > key.per_minute)
    return reply.code(429).send({ code: 'rate_limit_exceeded', message: 'Slow down.' });
  request.setDecorator('account', key.account);
});
fastify.get<{ Querystring: { after: number; limit: number } }>(
  '/v1/pets',
  { schema: { querystring: query, response: { 200: { type: 'array', items: pet } } } },
  async ({ query: { after, limit } }) => listPets.all(after, limit),
);
fastify.get<{ Params: { petId: string } }>('/v1/pets/:petId', { schema: { response: { 200: pet } } }, async request => {
  const found = findPet.get(request.params.petId);
  if (found === undefined) throw Object.assign(new Error('There is no such pet.'), { statusCode: 404 });
  return found;
});
fastify.post<{ Body: NewPet }>(
  '/v1/pets',
  { schema: { body: newPet, response: { 201: pet } } },
  async (request, reply) => {
    reply.code(201);
    return create(request.getDecorator<string>('account'), request.body);
  },
);
console.log(`${await fastify.listen({ host: '127.0.0.1', port: 0 })}/v1`);
