import { spawnSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { withoutProgram } from './programs.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** Why tests that set the wall clock of a process are skipped, or `false`. */
export const withoutSteppedClock: string | false =
  process.platform === 'linux' ? withoutProgram('cc') : 'left out: wall clocks are set by LD_PRELOAD, on Linux only';

/** A wall clock that a test sets, for processes that are started with `environment`. */
export interface SteppedClock {
  readonly environment: Readonly<Record<string, string>>;
  /** Sets the wall clock to `ms` milliseconds after the real one. */
  set(ms: number): void;
}

export function newSteppedClock(): SteppedClock {
  const directory = temporaryDirectory();
  const [source, library, offset] = ['clock.c', 'clock.so', 'offset'].map(name => join(directory, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(source, SOURCE);
  const { status, stderr } = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl']);
  if (status !== 0) throw new Error(`cc: ${stderr}`);
  writeFileSync(offset, Buffer.alloc(8));
  return {
    environment: { LD_PRELOAD: library, TEST_CLOCK_OFFSET: offset },
    set(ms) {
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64LE(BigInt(ms));
      const file = openSync(offset, 'r+');
      writeSync(file, bytes, 0, 8, 0);
      closeSync(file);
    },
  };
}

/** Adds the milliseconds in a file to the real-time clock. The monotonic and boot clocks stay as they are. */
const SOURCE = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static volatile int64_t *offset;
static int (*real)(clockid_t, struct timespec *);

static void init(void) {
  real = dlsym(RTLD_NEXT, "clock_gettime");
  const char *name = getenv("TEST_CLOCK_OFFSET");
  int file = name ? open(name, O_RDONLY) : -1;
  void *mapped = file < 0 ? MAP_FAILED : mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
  static int64_t none;
  offset = mapped == MAP_FAILED ? &none : mapped;
}

int clock_gettime(clockid_t id, struct timespec *time) {
  if (!offset) init();
  int result = real(id, time);
  if (result != 0 || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) return result;
  int64_t ns = time->tv_sec * 1000000000LL + time->tv_nsec + *offset * 1000000LL;
  time->tv_sec = ns / 1000000000LL;
  time->tv_nsec = ns % 1000000000LL;
  return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec time;
  if (clock_gettime(CLOCK_REALTIME, &time) != 0) return -1;
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}
`;
