import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { percentile } from './rounds.ts';

/** Measures how long the disk of a directory takes to append 4 KiB durably (`write` and `fdatasync`), in milliseconds. */
export function measureDisk(directory: string, seconds: number): { p50Ms: number; p99Ms: number } {
  const file = join(directory, 'fdatasync');
  const descriptor = openSync(file, 'w');
  const page = Buffer.alloc(4096, 1);
  const times: number[] = [];
  try {
    const endMs = performance.now() + seconds * 1000;
    while (performance.now() < endMs) {
      const startMs = performance.now();
      writeSync(descriptor, page);
      fdatasyncSync(descriptor);
      times.push(performance.now() - startMs);
    }
  } finally {
    closeSync(descriptor);
    rmSync(file);
  }
  times.sort((one, other) => one - other);
  return { p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) };
}
