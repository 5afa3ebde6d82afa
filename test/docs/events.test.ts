import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blocksOf, readPage, skip, startFirstServer } from '../support/pages-as-scripts.ts';

test('the JavaScript example of docs/events.md prints a new order', { skip }, async () => {
  const code = blocksOf(await readPage('docs/events.md')).find(({ language }) => language === 'js')!.text;
  const server = await startFirstServer();
  const [, address] = /Staging +http:\/\/([^/]+)/.exec(server.printed)!;
  const key = /petstore_test_\w+/.exec(server.printed)![0];
  const printed = Promise.withResolvers<{ type: string; data: { petId: number } }>();
  const opened = Promise.withResolvers<void>();
  const abort = new AbortController();

  /** Does what the example needs of the package `eventsource`. */
  class EventSource {
    readonly #listeners = new Map<string, (message: { data: string }) => void>();

    constructor(url: string, options: { fetch: typeof fetch }) {
      void this.#read(url, options.fetch).catch(() => {});
    }

    addEventListener(type: string, listener: (message: { data: string }) => void) {
      this.#listeners.set(type, listener);
    }

    async #read(url: string, send: typeof fetch) {
      const response = await send(url.replace('localhost:8081', address!), { signal: abort.signal });
      opened.resolve();
      let text = '';
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        const messages = (text + chunk).split('\n\n');
        text = messages.pop()!;
        for (const message of messages) {
          const [, type] = /^event: (.*)$/m.exec(message) ?? [];
          const [, data] = /^data: (.*)$/m.exec(message) ?? [];
          if (type !== undefined) this.#listeners.get(type)?.({ data: data! });
        }
      }
    }
  }

  try {
    const body = code.replace("import { EventSource } from 'eventsource';", '');
    const process = { env: { KEY: key } };
    new Function('EventSource', 'process', 'console', body)(EventSource, process, { log: printed.resolve });
    await opened.promise;
    await server.run(
      `curl -sSf -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"petId":39}' http://localhost:8081/v1/store/orders`,
    );
    const { type, data } = await printed.promise;
    assert.deepEqual([type, data.petId], ['order.placed', 39]);
  } finally {
    abort.abort();
    await server.stop();
  }
});
