import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { createServer } from '../node-http.ts';
import { closeConnection, headersOverHttp, headersOverTls, type ResponseContent, writeResponse } from './responses.ts';

interface Example {
  readonly content: ResponseContent;
  readonly headers: readonly string[];
  readonly common?: readonly string[];
}

const examples: Readonly<Record<string, Example>> = {
  json: { content: { status: 200, bytes: '{"name":"Rex"}' }, headers: ['ETag', '"1"'], common: headersOverHttp.read },
  umlaut: { content: { status: 201, bytes: '{"name":"Käthe 🐈"}' }, headers: [], common: headersOverTls.api },
  bytes: { content: { status: 200, bytes: Buffer.from('Käthe'), contentType: 'text/plain' }, headers: ['A', 'b'] },
  empty: { content: { status: 200, bytes: '' }, headers: [], common: headersOverHttp.page },
  unmodified: { content: { status: 304, bytes: '' }, headers: ['ETag', '"1"'], common: headersOverHttp.read },
  deleted: { content: { status: 204, bytes: '' }, headers: ['X-Request-Id', 'x'], common: headersOverHttp.api },
  unknown: { content: { status: 404, bytes: '{}' }, headers: ['Retry-After', '1', ...closeConnection] },
  latin: {
    content: { status: 200, bytes: '{"name":"Käthe"}' },
    headers: ['Link', '<Käthe>'],
    common: headersOverHttp.read,
  },
  file: { content: { status: 200, bytes: '', length: 12_345 }, headers: [], common: headersOverHttp.read },
};

/** Writes a response as Node does. */
function writePlainly(response: ServerResponse, { content, headers, common = [] }: Example): void {
  const { status, contentType = 'application/json; charset=utf-8', bytes, length = Buffer.byteLength(bytes) } = content;
  const own = [204, 304].includes(status) ? [] : ['Content-Type', contentType, 'Content-Length', String(length)];
  response.writeHead(status, [...own, ...common, ...headers]);
  response.end(bytes);
}

describe('writeResponse', () => {
  const server = createServer({ keepAliveTimeout: 20_000 }, (request, response) => {
    const [, name, way] = request.url!.split('/');
    const example = examples[name!]!;
    if (way === 'plain') writePlainly(response, example);
    else writeResponse(response, example.content, example.headers, example.common);
  });
  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(() => server.close());

  /** Returns the bytes of the responses, without their dates. */
  async function responsesTo(requests: string): Promise<string> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    let received = '';
    socket.setEncoding('latin1').on('data', text => {
      received += text;
    });
    socket.end(requests);
    await once(socket, 'close');
    assert.match(received, /\r\nDate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n/);
    return received.replaceAll(/(?<=\r\nDate: )[^\r]*/g, '');
  }

  const requests = {
    GET: (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`,
    HEAD: (path: string) => `HEAD ${path} HTTP/1.1\r\nHost: x\r\n\r\n`,
    'the last GET of a connection': (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    'GET of HTTP/1.0': (path: string) => `GET ${path} HTTP/1.0\r\n\r\n`,
    'a kept connection of HTTP/1.0': (path: string) => `GET ${path} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n`,
    'three pipelined GET': (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(3),
  };
  for (const [title, request] of Object.entries(requests)) {
    for (const name of Object.keys(examples)) {
      // Its length is that of a body which only HEAD leaves out.
      if (name === 'file' && title !== 'HEAD') continue;
      it(`sends the bytes that Node would send: ${name}, ${title}`, async () => {
        const plain = await responsesTo(request(`/${name}/plain`));
        assert.equal(await responsesTo(request(`/${name}/`)), plain);
      });
    }
  }

  it('throws for a header that would end its line', () => {
    const headers = ['Link', '<a>\r\nSet-Cookie: b'];
    const response = {
      writeHead(_status: number, given: readonly string[]) {
        assert.ok(given.includes(headers[1]!), 'Node checks it');
        throw new TypeError('Invalid character in header content ["Link"]');
      },
    };
    assert.throws(() => writeResponse(response as never, { status: 200, bytes: '' }, headers), /Invalid character/);
  });
});
