import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Problem } from '../problem.ts';
import { type UploadSlot, UploadSlots } from './upload-slots.ts';

const KIB = 1024;

describe('upload slots', () => {
  it('end an upload that averages less than 2 KiB/s over the last ten seconds, and no faster one', async t => {
    const { start, pass } = uploads(t);
    const [fair, slow, bursts, stopped] = await Promise.all([1, 2, 3, 4].map(network => start(network)));
    stopped!.send(20 * KIB);
    for (let second = 1; second <= 20; second++) {
      fair!.send(3 * KIB);
      slow!.send(KIB);
      if (second % 5 === 1) bursts!.send(25 * KIB);
      await pass(1000);
      const ended = second < 10 ? undefined : 'request_timeout';
      const codes = [fair, slow, bursts, stopped].map(upload => upload!.error?.code);
      assert.deepEqual(codes, [undefined, ended, undefined, ended], `after ${second} s`);
    }
    assert.equal(slow!.error!.status, 408);
    assert.match(slow!.error!.message, /less than 2 KiB\/s over the last 10 seconds/);
  });

  it('do not count the time in which the server does not wait for the client', async t => {
    const { start, pass } = uploads(t);
    const upload = await start(1);
    upload.send(10, { isWaiting: false });
    await pass(60_000);
    assert.equal(upload.error?.code, undefined);
    upload.wait();
    await pass(9000);
    assert.equal(upload.error?.code, undefined);
    await pass(1500);
    assert.equal(upload.error?.code, 'request_timeout');
  });

  it('leave three quarters to other networks, and one account has two', async t => {
    const { start, request, pass, slots } = uploads(t);
    await Promise.all([start(1, 1), start(1, 1)]);
    assert.equal(slots.countOf(1), 2);
    const third = request(2, 1);
    const other = request(2, 2);
    await pass(0);
    assert.deepEqual([third.state, other.state], ['waiting', 'started']);
    await Promise.all([3, 4, 5, 6, 7, 8].map(accountId => start(1, accountId)));
    const ninth = request(1, 9);
    await pass(0);
    assert.equal(ninth.state, 'waiting');
    for (const { state } of await Promise.all([3, 4].map(network => start(network)))) assert.equal(state, 'started');
  });

  it('name the cause of a wait of ten seconds: the account, the network or the node', async t => {
    const { start, request, pass, keepAlive } = uploads(t);
    await Promise.all([start(1, 1), start(1, 1)]);
    const account = request(1, 1);
    for (let accountId = 2; accountId < 8; accountId++) await start(1, accountId);
    const network = request(1, 8);
    for (let other = 2; other < 5; other++) {
      for (let accountId = 0; accountId < 8; accountId++) await start(other, other * 10 + accountId);
    }
    const node = request(9, 9);
    for (let second = 0; second < 10; second++) {
      assert.deepEqual([account.state, network.state, node.state], ['waiting', 'waiting', 'waiting']);
      keepAlive();
      await pass(1000);
    }
    const [ofAccount, ofNetwork, ofNode] = [account, network, node].map(({ error }) => error!);
    for (const { status, code, headers } of [ofAccount!, ofNetwork!, ofNode!]) {
      assert.deepEqual([status, code, headers], [503, 'overloaded', ['Retry-After', '5']]);
    }
    assert.match(ofAccount!.message, /^Your account is already uploading 2 files/);
    assert.match(ofNetwork!.message, /^Your network is already uploading 8 files/);
    assert.match(ofNode!.message, /^Too many uploads at the moment. Nothing was changed; try again.$/);
  });

  it('let as many uploads of a network wait as it can have, and reject further ones at once', async t => {
    const { start, request, pass } = uploads(t);
    for (let accountId = 1; accountId <= 8; accountId++) await start(1, accountId);
    const waiting = Array.from({ length: 9 }, (_, index) => request(1, 11 + index));
    await pass(0);
    assert.deepEqual(
      waiting.map(({ state }) => state),
      [...new Array(8).fill('waiting'), 'rejected'],
    );
  });

  it('are taken from the slowest upload below the rate, for the network with the fewest uploads', async t => {
    const { start, request, pass, all } = uploads(t);
    for (let network = 1; network <= 4; network++) {
      for (let accountId = 0; accountId < 8; accountId++) await start(network, network * 10 + accountId);
    }
    for (const [index, upload] of all.entries()) upload.send(index === 5 ? 10 : index === 7 ? 20 : 10 * KIB);
    const again = request(2, 50);
    const bystander = request(9, 9);
    await pass(1500);
    assert.deepEqual([again.state, bystander.state], ['waiting', 'waiting'], 'uploads have two seconds');
    await pass(500);
    assert.deepEqual([all[5]!.error?.code, all[7]!.error], ['request_timeout', undefined]);
    assert.match(all[5]!.error!.message, /another upload needed its slot/);
    assert.deepEqual([again.state, bystander.state], ['waiting', 'started']);
  });

  it('of one kind are not taken by another', async t => {
    const { slots, pass } = uploads(t);
    for (let network = 1; network <= 4; network++) {
      for (let accountId = 0; accountId < 8; accountId++) {
        slots.request('files', {
          address: `${network}`,
          account: { accountId: network * 10 + accountId, plan: 'free' },
        });
      }
    }
    let isReady = false;
    slots.request('photos', { address: '1', account: undefined }).ready.then(() => {
      isReady = true;
    });
    await pass(0);
    assert.equal(isReady, true);
  });

  it('are free again once they are released, also those that were never used', async t => {
    const { start, request, pass, slots } = uploads(t);
    const [first] = await Promise.all([start(1, 1), start(1, 1)]);
    const gone = request(1, 1);
    const next = request(1, 1);
    gone.slot.release();
    first!.slot.release();
    first!.slot.release();
    await pass(0);
    assert.deepEqual([next.state, slots.countOf(1)], ['started', 2]);
    next.slot.release();
    assert.equal(slots.countOf(1), 1);
  });
});

/** An upload of a test, which controls when bytes arrive. */
class TestUpload {
  readonly slot: UploadSlot;
  state: 'waiting' | 'started' | 'rejected' = 'waiting';
  error: Problem | undefined;
  #arrived: (() => void) | undefined;

  constructor(slot: UploadSlot) {
    this.slot = slot;
    slot.ready.then(
      () => {
        this.state = 'started';
        this.wait();
      },
      error => {
        this.state = 'rejected';
        this.error = error;
      },
    );
  }

  wait(): void {
    const waited = this.slot.waitForBytes(done => {
      this.#arrived = done;
    });
    waited.catch(error => {
      this.error = error;
      this.slot.release();
    });
  }

  /** Sends bytes to a server that then waits for more, unless it is busy. */
  async send(bytes: number, { isWaiting = true } = {}): Promise<void> {
    if (this.error !== undefined) return;
    this.#arrived!();
    await turn();
    this.slot.receive(bytes);
    if (isWaiting) this.wait();
  }
}

/** Returns slots for 32 files whose clock and timers move only with `pass`. */
function uploads(t: TestContext) {
  let nowMs = 5000;
  t.mock.timers.enable({ apis: ['setInterval'] });
  const slots = new UploadSlots({
    totals: { files: 32, photos: 4 },
    maxOf: () => 2,
    networkOf: address => address,
    now: () => nowMs,
  });
  const all: TestUpload[] = [];
  let account = 1000;
  const request = (network: number, accountId = account++) => {
    const upload = new TestUpload(
      slots.request('files', { address: `${network}`, account: { accountId, plan: 'free' } }),
    );
    all.push(upload);
    return upload;
  };
  const settle = async () => {
    for (let round = 0; round < 5; round++) await turn();
  };
  return {
    ...{ slots, all, request },
    async start(network: number, accountId?: number) {
      const upload = request(network, accountId);
      await settle();
      assert.equal(upload.state, 'started');
      return upload;
    },
    /** Sends enough bytes of every upload to keep it above the minimum rate. */
    keepAlive() {
      for (const upload of all) if (upload.state === 'started') upload.send(10 * KIB);
    },
    async pass(ms: number) {
      await settle();
      for (let left = ms; left > 0; left -= 500) {
        nowMs += 500;
        t.mock.timers.tick(500);
        await settle();
      }
    },
  };
}
