import Fastify from 'fastify';

/**
 * Fastify alone: the same bytes for the same paths, without authentication, limits, validation or storage.
 *
 * Arguments: the bytes of a list, of a pet and of a created pet. Prints its base URL.
 */
const [list = '', pet = '', created = ''] = process.argv.slice(2);
const type = 'application/json; charset=utf-8';
const fastify = Fastify();
fastify.get('/v1/pets', (_request, reply) => reply.type(type).send(list));
fastify.get('/v1/pets/:petId', (_request, reply) => reply.type(type).send(pet));
fastify.post('/v1/pets', (_request, reply) => reply.code(201).type(type).send(created));
console.log(`${await fastify.listen({ host: '127.0.0.1', port: 0 })}/v1`);
