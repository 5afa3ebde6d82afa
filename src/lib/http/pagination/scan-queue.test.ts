import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type QueuedScan, ScanQueue, type ScanRequest, startScan } from './scan-queue.ts';

describe('ScanQueue', () => {
  it('lets one scan read in each turn of the event loop, by turns for each account', async () => {
    const scans = new ScanQueue({ atOnce: 1, maxOf: () => 10 });
    const reads: number[] = [];
    let readsThisTurn = 0;
    const read = async (account: number) => {
      using scan = startScan(requestOf(scans, account));
      for (let window = 0; window < 3; window++) {
        await scan.turn();
        assert.equal(++readsThisTurn, 1);
        reads.push(account);
      }
    };
    const all = Promise.all([1, 1, 1, 2, 1, 3].map(read));
    let isDone = false;
    all.then(() => {
      isDone = true;
    });
    while (!isDone) {
      readsThisTurn = 0;
      await nextTurn();
    }
    assert.equal(reads.length, 18);
    // The scans of accounts 2 and 3 end in the first half, although four of account 1 began before.
    assert.deepEqual(reads.slice(0, 9).toSorted().join(''), '111222333');
    assert.equal(scans.size, 0);
  });

  it('lets up to `atOnce` scans read at the same time', async () => {
    const scans = new ScanQueue({ atOnce: 2, maxOf: () => 10 });
    let reading = 0;
    let readingMax = 0;
    const read = async (account: number) => {
      using scan = startScan(requestOf(scans, account));
      for (let window = 0; window < 4; window++) {
        await scan.turn();
        readingMax = Math.max(readingMax, ++reading);
        await nextTurn();
        reading--;
      }
    };
    await Promise.all([1, 1, 2, 2, 3].map(read));
    assert.equal(readingMax, 2);
  });

  it('bounds the scans of an account, and leaves room for others however many an account may have', () => {
    const scans = new ScanQueue({ atOnce: 1, maxOf: ({ plan }) => (plan === 'free' ? 2 : 1_000_000) });
    const isFree = (account: number) => account < 10;
    const begun: QueuedScan[] = [];
    const startAll = (account: number) => {
      const request = requestOf(scans, account, isFree(account) ? 'free' : 'enterprise');
      let started = 0;
      assert.throws(
        () => {
          for (; ; started++) begun.push(startScan(request));
        },
        { code: 'overloaded', status: 503, headers: ['Retry-After', '1'] },
      );
      assert.equal(scans.countOf(account), started);
      return started;
    };
    assert.equal(startAll(1), 2);
    const shares = [startAll(10), startAll(11), startAll(12)];
    assert.ok(shares[0]! >= shares[1]! && shares[1]! >= shares[2]! && shares[2]! > 1, shares.join());
    assert.equal(startAll(2), 2);
    for (const scan of begun) scan[Symbol.dispose]();
    assert.deepEqual([scans.size, scans.countOf(1), scans.countOf(10)], [0, 0, 0]);
    assert.equal(startAll(1), 2);
  });

  it('reports that a client has gone, also while its scan waits', async () => {
    for (const end of ['destroyed', 'readableEnded'] as const) {
      const scans = new ScanQueue({ atOnce: 1, maxOf: () => 10 });
      const request = requestOf(scans, 1);
      using scan = startScan(request);
      assert.equal(await scan.turn(), true);
      const next = scan.turn();
      request.connection[end] = true;
      assert.equal(await next, false);
    }
  });

  it('never lets a request without a queue wait', async () => {
    for (const request of [undefined, { ...requestOf(undefined, 1), context: {} }]) {
      using scan = startScan(request);
      for (let window = 0; window < 3; window++) assert.equal(await scan.turn(), true);
    }
  });
});

function requestOf(scans: ScanQueue | undefined, accountId: number, plan = 'free') {
  const connection = { destroyed: false, readableEnded: false };
  return { context: { ...(scans && { scans }) }, caller: { accountId, plan }, connection } satisfies ScanRequest;
}
