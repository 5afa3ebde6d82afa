import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * `node:http` alone: the same bytes for the same paths, without authentication, limits, validation or storage. Reads the
 * body of a POST and discards it.
 *
 * Arguments: the bytes of a list, of a pet and of a created pet. Prints its base URL.
 */
const [list = '', pet = '', created = ''] = process.argv.slice(2);
const server = createServer((request, response) => {
  const body = request.method === 'POST' ? created : request.url?.startsWith('/v1/pets/') ? pet : list;
  request.resume().once('end', () => {
    response.writeHead(request.method === 'POST' ? 201 : 200, [
      ...['Content-Type', 'application/json; charset=utf-8'],
      ...['Content-Length', String(Buffer.byteLength(body))],
    ]);
    response.end(body);
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
});
