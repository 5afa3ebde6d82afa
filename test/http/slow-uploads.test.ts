import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { overEachEngine } from '../support/engines-over-http.ts';
import { image } from '../support/photos.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';

/** The first bytes of a JPEG. */
const JPEG = '\u00ff\u00d8\u00ff';

/** What is uploaded where, and how many uploads one network may have. */
const kinds = {
  imports: { path: () => '/imports', type: 'text/csv', begins: 'x', ofNetwork: 8, status: 202 },
  photos: {
    path: (petId: number) => `/pets/${petId}/photos`,
    type: 'image/jpeg',
    begins: JPEG,
    ofNetwork: 16,
    status: 201,
  },
} as const;

overEachEngine(engine => {
  describe('slow uploads', { concurrency: true }, () => {
    let service: TestService;
    let photo: Buffer;
    before(async () => {
      service = await serve({ environment: { ...(await engine.settings()), PETSTORE_STAGING_PORT: '' } });
      photo = await image('jpeg');
    });
    after(() => service?.stop());

    for (const [kind, { path, type, begins, ofNetwork, status }] of Object.entries(kinds)) {
      describe(`of ${kind}`, { concurrency: 1 }, () => {
        const open: SlowUpload[] = [];
        after(() => closeAll());

        const closeAll = () => {
          for (const { socket } of open.splice(0)) socket.destroy();
        };
        const uploaders: Awaited<ReturnType<typeof newUploader>>[] = [];
        before(async () => {
          for (let left = 10 * ofNetwork; left > 0; left--) uploaders.push(await newUploader(service, path));
        });
        /** Begins uploads of different accounts from one address, each with a few bytes. */
        const begin = async (address: string, from: number, count: number) => {
          const begun = uploaders
            .slice(from, from + count)
            .map(one => new SlowUpload(one.url, one.token, { type, begins, address }));
          open.push(...begun);
          await Promise.all(begun.map(({ socket }) => waitUntil(() => socket.bytesWritten > 0)));
          return begun;
        };
        /** Uploads a file from an address of its own. Returns the status and the seconds until the response. */
        const uploadBeside = async () => {
          const { token, url } = await newUploader(service, path);
          const agent = new Agent({ localAddress: '127.0.0.250' });
          const from = performance.now();
          const body = kind === 'photos' ? photo : 'externalId,name,category\nA1,Rex,Dogs\n';
          const reply = await send(url, { method: 'POST', key: token, headers: { 'Content-Type': type }, body, agent });
          agent.destroy();
          return { ...reply, seconds: (performance.now() - from) / 1000 };
        };

        it('from one network leave others their slots, and end with 408 after ten seconds', async () => {
          const begun = await begin('127.0.0.2', 0, 35);
          const sending = setInterval(() => {
            for (const { socket } of begun) socket.write('x');
          }, 1000);
          try {
            const beside = await uploadBeside();
            assert.equal(beside.status, status, beside.text);
            assert.ok(beside.seconds < 2, `${beside.seconds} s`);
            await waitUntil(() => begun.every(({ response }) => response !== ''));
          } finally {
            clearInterval(sending);
          }
          const replies = begun.map(({ response }) => parse(response));
          const ended = replies.filter(reply => reply.status === 408);
          const rejected = replies.filter(reply => reply.status === 503);
          assert.equal(ended.length + rejected.length, 35);
          assert.ok(ended.length >= ofNetwork, `${ended.length} had a slot`);
          for (const { body, head } of replies) {
            assert.match(head, /^x-ratelimit-limit: \d+\r$/im);
            assert.match(head, /^content-type: application\/json/im);
            assert.equal(body.code, body.status === 408 ? 'request_timeout' : 'overloaded');
          }
          for (const { body } of ended) assert.match(body.message, /less than 2 KiB\/s/);
          for (const { body } of rejected) assert.match(body.message, /^Your network is already uploading \d+ files/);
          const isLogged = service.lines.some(line => line.includes(`already uploading ${ofNetwork} files`));
          assert.equal(isLogged, rejected.length > 0, 'the other kind, rejected at the same time, does not hide it');
          closeAll();
        });

        it('from ten networks keep nobody waiting for ten seconds', async () => {
          const networks = Array.from({ length: 10 }, (_, index) => `127.0.1.${index + 1}`);
          await Promise.all(networks.map((address, index) => begin(address, index * ofNetwork, ofNetwork)));
          const beside = await uploadBeside();
          assert.equal(beside.status, status, beside.text);
          assert.ok(beside.seconds < 10, `${beside.seconds} s`);
          closeAll();
        });
      });
    }

    it('of an account are at most two, as its bounds show, and a third one waits for its slot', async () => {
      const { token, url, account } = await newUploader(service, kinds.photos.path);
      const slow = ['127.0.2.1', '127.0.2.2'].map(
        address => new SlowUpload(url, token, { type: 'image/jpeg', begins: JPEG, address }),
      );
      await waitUntil(async () => (await account()).bounds.uploads.used === 2);
      assert.equal((await account()).bounds.uploads.maximum, 2);
      const third = send(url, { method: 'POST', key: token, headers: { 'Content-Type': 'image/jpeg' }, body: photo });
      assert.equal(await Promise.race([third.then(() => 'served'), pause(500, 'waits')]), 'waits');
      slow[0]!.socket.destroy();
      assert.equal((await third).status, 201);
      slow[1]!.socket.destroy();
      await waitUntil(async () => (await account()).bounds.uploads.used === 0);
    });
  });
});

/** Returns a new account, with the URL for its uploads. */
async function newUploader(service: TestService, pathOf: (petId: number) => string) {
  const { token } = await service.newKey();
  const url = service.urls.production;
  const { body } = await send(`${url}/pets`, { method: 'POST', key: token, body: { name: 'Rex', categoryId: 1 } });
  return {
    token,
    url: url + pathOf(body.id),
    account: async () => (await send(`${url}/account`, { key: token })).body,
  };
}

/** An upload that has begun with the first bytes of a file, and sends no more by itself. */
class SlowUpload {
  readonly socket: Socket;
  response = '';

  constructor(url: string, key: string, { type, begins, address }: Record<'type' | 'begins' | 'address', string>) {
    const { hostname, port, pathname } = new URL(url);
    this.socket = connect({ host: hostname, port: Number(port), localAddress: address });
    this.socket.on('data', data => {
      this.response += data;
    });
    this.socket.on('error', () => {});
    const headers = `Host: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: ${type}\r\nContent-Length: 100000\r\n`;
    this.socket.write(`POST ${pathname} HTTP/1.1\r\n${headers}\r\n${begins}`, 'latin1');
  }
}

function parse(response: string) {
  const [head = '', text = ''] = response.split('\r\n\r\n');
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]);
  return { status, head, body: JSON.parse(text) };
}
