import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** How long the disk below a directory takes to keep 4 KiB more of a file (`write` and `fdatasync`), in milliseconds. */
export function measureDisk(directory: string, seconds: number): { p50Ms: number; p99Ms: number } {
  const file = join(directory, 'fdatasync');
  const descriptor = openSync(file, 'w');
  const page = Buffer.alloc(4096, 1);
  const times: number[] = [];
  try {
    const until = performance.now() + seconds * 1000;
    while (performance.now() < until) {
      const began = performance.now();
      writeSync(descriptor, page);
      fdatasyncSync(descriptor);
      times.push(performance.now() - began);
    }
  } finally {
    closeSync(descriptor);
    rmSync(file);
  }
  times.sort((one, other) => one - other);
  return { p50Ms: times[Math.floor(times.length / 2)]!, p99Ms: times[Math.floor(times.length * 0.99)]! };
}
