/*
 * Records what a process does to the files of one directory: writes, truncations, deletions and flushes, in their
 * order, over all threads and processes, so that a power cut at any moment can be replayed. Loaded by LD_PRELOAD.
 *
 *   RECORD_DIRECTORY  the directory whose files are recorded (absolute; -shm files are left out)
 *   RECORD_LOG        where the records go; without it nothing is recorded
 *   RECORD_KILL_AT    kills the process with SIGKILL after so many records of its own
 *   RECORD_EIO_AT     the n-th fdatasync of a -wal file fails with EIO (1 is the first)
 *   RECORD_FULL       while this file exists, writes fail with ENOSPC
 *   RECORD_STALL      while this file exists, fdatasync of a -wal file does not come back
 *   RECORD_PAUSE      the second opening of a .db file makes this file, and does not come back before it is removed
 *
 * A record: op, thread, file (a number for each file opened), result, offset, length, then `length` bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPENED = 1, WRITTEN, TRUNCATED, FLUSH_BEGAN, FLUSH_ENDED, DELETED, NOTED };

struct record {
  uint32_t op, thread;
  uint64_t file, offset;
  int32_t result;
  uint32_t length;
};

#define DESCRIPTORS 4096
#define NOTES 1
#define RECORDED 2
#define WAL 4

static struct { int kind; uint64_t inode; } descriptors[DESCRIPTORS];
static char directory[4096];
static size_t directory_length;
static int log_fd = -1;
static long records, kill_at, flushes, eio_at, databases;
static const char *full, *stall, *pause_file;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int (*real_open)(const char *, int, ...);
static int (*real_openat)(int, const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_ftruncate)(int, off_t);
static int (*real_fsync)(int), (*real_fdatasync)(int);
static int (*real_unlink)(const char *);

__attribute__((constructor)) static void begin(void) {
  real_open = dlsym(RTLD_NEXT, "open");
  real_openat = dlsym(RTLD_NEXT, "openat");
  real_close = dlsym(RTLD_NEXT, "close");
  real_write = dlsym(RTLD_NEXT, "write");
  real_pwrite = dlsym(RTLD_NEXT, "pwrite");
  real_ftruncate = dlsym(RTLD_NEXT, "ftruncate");
  real_fsync = dlsym(RTLD_NEXT, "fsync");
  real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  real_unlink = dlsym(RTLD_NEXT, "unlink");
  const char *where = getenv("RECORD_DIRECTORY"), *log = getenv("RECORD_LOG");
  const char *at = getenv("RECORD_KILL_AT"), *eio = getenv("RECORD_EIO_AT");
  if (where == NULL) return;
  directory_length = strlen(strncpy(directory, where, sizeof directory - 1));
  if (log != NULL) log_fd = real_open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  kill_at = at ? atol(at) : 0;
  eio_at = eio ? atol(eio) : 0;
  full = getenv("RECORD_FULL");
  stall = getenv("RECORD_STALL");
  pause_file = getenv("RECORD_PAUSE");
}

static int ends(const char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* Returns what a descriptor is. The process may have closed it by a system call of its own, as libuv does after a copy. */
static int kind(int fd) {
  if (fd < 0 || fd >= DESCRIPTORS || descriptors[fd].kind == 0) return 0;
  int saved = errno;
  struct stat status;
  if (fstat(fd, &status) != 0 || status.st_ino != descriptors[fd].inode) descriptors[fd].kind = 0;
  errno = saved;
  return descriptors[fd].kind;
}

/* Between enter and leave nothing else is recorded, here or in another process. */
static void enter(void) {
  pthread_mutex_lock(&mutex);
  if (log_fd >= 0) flock(log_fd, LOCK_EX);
}

static void leave(void) {
  if (log_fd >= 0) flock(log_fd, LOCK_UN);
  pthread_mutex_unlock(&mutex);
}

static void record(uint32_t op, uint64_t file, uint64_t offset, int result, const void *data, size_t length) {
  if (log_fd < 0) return;
  struct record head = {op, (uint32_t)syscall(SYS_gettid), file, offset, result, (uint32_t)length};
  struct iovec parts[2] = {{&head, sizeof head}, {(void *)data, length}};
  if (writev(log_fd, parts, 2) != (ssize_t)(sizeof head + length)) abort();
  if (++records == kill_at) kill(getpid(), SIGKILL);
}

static void wait_in_pause(void) {
  close(real_open(pause_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  while (access(pause_file, F_OK) == 0) usleep(5000);
}

static int opened(int fd, const char *path) {
  if (fd < 0 || fd >= DESCRIPTORS || directory_length == 0 || strncmp(path, directory, directory_length) != 0) return fd;
  const char *rest = path + directory_length;
  if ((*rest != '\0' && *rest != '/') || ends(path, "-shm")) return fd;
  int saved = errno;
  struct stat status;
  fstat(fd, &status);
  enter();
  descriptors[fd].inode = status.st_ino;
  descriptors[fd].kind = ends(path, ".notes") ? NOTES : RECORDED | (ends(path, "-wal") ? WAL : 0);
  if (descriptors[fd].kind != NOTES) record(OPENED, status.st_ino, S_ISDIR(status.st_mode), 0, path, strlen(path));
  int second = ends(path, ".db") && ++databases == 2;
  leave();
  if (second && pause_file != NULL) wait_in_pause();
  errno = saved;
  return fd;
}

#define OPEN(name, real, ...) \
  va_list list; va_start(list, flags); int mode = va_arg(list, int); va_end(list); \
  return opened(real(__VA_ARGS__, flags, mode), path);

int open(const char *path, int flags, ...) { OPEN(open, real_open, path) }
int open64(const char *path, int flags, ...) { OPEN(open64, real_open, path) }
int openat(int at, const char *path, int flags, ...) { OPEN(openat, real_openat, at, path) }
int openat64(int at, const char *path, int flags, ...) { OPEN(openat64, real_openat, at, path) }

int close(int fd) {
  if (kind(fd)) descriptors[fd].kind = 0;
  return real_close(fd);
}

static int is_full(void) { return full != NULL && access(full, F_OK) == 0; }

static ssize_t written(int fd, const void *data, size_t length, off_t offset) {
  enter();
  ssize_t result = -1;
  if (is_full()) errno = ENOSPC;
  else result = real_pwrite(fd, data, length, offset);
  int saved = errno;
  if (result > 0) record(WRITTEN, descriptors[fd].inode, (uint64_t)offset, 0, data, (size_t)result);
  leave();
  errno = saved;
  return result;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
  return kind(fd) & RECORDED ? written(fd, data, length, offset) : real_pwrite(fd, data, length, offset);
}
ssize_t pwrite64(int fd, const void *data, size_t length, off_t offset) { return pwrite(fd, data, length, offset); }

ssize_t write(int fd, const void *data, size_t length) {
  int of = kind(fd);
  if (of == NOTES) {
    enter();
    record(NOTED, 0, 0, 0, data, length);
    leave();
    return (ssize_t)length;
  }
  if (!(of & RECORDED)) return real_write(fd, data, length);
  off_t offset = lseek(fd, 0, SEEK_CUR);
  ssize_t result = written(fd, data, length, offset);
  if (result > 0) lseek(fd, offset + result, SEEK_SET);
  return result;
}

int ftruncate(int fd, off_t size) {
  if (!(kind(fd) & RECORDED)) return real_ftruncate(fd, size);
  enter();
  int result = real_ftruncate(fd, size), saved = errno;
  if (result == 0) record(TRUNCATED, descriptors[fd].inode, (uint64_t)size, 0, NULL, 0);
  leave();
  errno = saved;
  return result;
}
int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }

static int flush(int fd, int (*real)(int)) {
  if (!(kind(fd) & RECORDED)) return real(fd);
  uint64_t inode = descriptors[fd].inode;
  int fails = 0;
  enter();
  if ((kind(fd) & WAL) && real == real_fdatasync) fails = ++flushes == eio_at;
  record(FLUSH_BEGAN, inode, 0, 0, NULL, 0);
  leave();
  while ((kind(fd) & WAL) && stall != NULL && access(stall, F_OK) == 0) usleep(5000);
  int result = fails ? -1 : real(fd), saved = fails ? EIO : errno;
  enter();
  record(FLUSH_ENDED, inode, 0, result, NULL, 0);
  leave();
  errno = saved;
  return result;
}

int fsync(int fd) { return flush(fd, real_fsync); }
int fdatasync(int fd) { return flush(fd, real_fdatasync); }

int unlink(const char *path) {
  if (directory_length == 0 || strncmp(path, directory, directory_length) != 0 || ends(path, "-shm")) {
    return real_unlink(path);
  }
  enter();
  int result = real_unlink(path), saved = errno;
  if (result == 0) record(DELETED, 0, 0, 0, path, strlen(path));
  leave();
  errno = saved;
  return result;
}
