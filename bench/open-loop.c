// An open-loop load generator: requests arrive at random times (Poisson), whatever the responses, as those of many clients do.
//
//   cc -O2 -o open-loop bench/open-loop.c -lm
//   open-loop PORT REQUESTS_PER_SECOND SECONDS TIMEOUT_MS new|kept|kept:N FILE...
//
// Each FILE is a whole HTTP request; they are sent in turn. `{nnnnnn}` in one becomes a different number in each request, so
// that no cache has its response. With `new`, each request opens a connection; with `kept`, it uses an idle one if there is
// one; N are opened before. A client that waits longer than the timeout closes its connection. Prints one line of JSON:
// successes in time, also those of each second, 503s, other responses, and how late the generator itself was.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { REQUESTS_MAX = 16, SECONDS_MAX = 3600, OPEN_MAX = 20000, BUFFER = 16384 };

typedef struct client {
  int fd, request, length;
  enum { CONNECTING, WAITING, IDLE } state;
  double start_ms;
  struct client *next, *previous;
  char response[BUFFER];
} client;

static char *requests[REQUESTS_MAX], *numbers[REQUESTS_MAX];
static size_t lengths[REQUESTS_MAX];
static int request_count, epoll, keeps, open_clients;
static struct sockaddr_in server;
static client *idle, *oldest, *newest;
static double *served_ms, *refused_ms, begin_ms;
static long served, refused, other, timeouts, errors, unsent, served_in[SECONDS_MAX];

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static void enlist(client *c) {
  c->next = NULL;
  c->previous = newest;
  if (newest) newest->next = c; else oldest = c;
  newest = c;
}

static void delist(client *c) {
  if (c->state == IDLE) {
    client **link = &idle;
    while (*link != c) link = &(*link)->next;
    *link = c->next;
    return;
  }
  if (c->previous) c->previous->next = c->next; else oldest = c->next;
  if (c->next) c->next->previous = c->previous; else newest = c->previous;
}

static void drop(client *c, long *reason) {
  if (c->state != IDLE && reason) ++*reason;
  delist(c);
  close(c->fd);
  open_clients--;
  free(c);
}

static void send_request(client *c) {
  c->state = WAITING;
  size_t length = lengths[c->request];
  static int sent;
  char number[16];
  if (numbers[c->request]) {
    snprintf(number, sizeof number, "%08d", sent++ % 100000000);
    memcpy(numbers[c->request], number, 8);
  }
  if (send(c->fd, requests[c->request], length, MSG_NOSIGNAL) != (ssize_t)length) drop(c, &errors);
}

static void arrive(int request) {
  client *c = idle;
  if (keeps && c) {
    idle = c->next;
    c->request = request;
    c->start_ms = now_ms();
    c->length = 0;
    c->state = WAITING;
    enlist(c);
    send_request(c);
    return;
  }
  if (open_clients == OPEN_MAX || !(c = malloc(sizeof *c))) { unsent++; return; }
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  c->request = request;
  c->length = 0;
  c->state = CONNECTING;
  c->start_ms = now_ms();
  open_clients++;
  enlist(c);
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
  // A reset leaves no port in TIME_WAIT.
  if (!keeps) setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
  struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c};
  if (connect(c->fd, (struct sockaddr *)&server, sizeof server) < 0 && errno != EINPROGRESS) drop(c, &errors);
  else epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event);
}

/** Opens a connection without a request, after a pause in which the server can accept the one before. */
static void open_idle(void) {
  usleep(500);
  client *c = malloc(sizeof *c);
  c->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(c->fd, (struct sockaddr *)&server, sizeof server) < 0) { perror("connect"); exit(1); }
  fcntl(c->fd, F_SETFL, O_NONBLOCK);
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
  open_clients++;
  c->state = IDLE;
  c->next = idle;
  idle = c;
  epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &(struct epoll_event){.events = EPOLLIN | EPOLLET, .data.ptr = c});
}

/** Returns whether the response is complete, and then cuts off its body. It has a Content-Length. */
static int is_complete(client *c) {
  c->response[c->length] = 0;
  char *end = strstr(c->response, "\r\n\r\n"), *length = strcasestr(c->response, "\r\ncontent-length:");
  if (!end || c->length < end + 4 - c->response + (length && length < end ? atoi(length + 17) : 0)) return 0;
  *end = 0;
  return 1;
}

static void finish(client *c) {
  double time_ms = now_ms(), ms = time_ms - c->start_ms;
  int status = atoi(c->response + 9), second = (time_ms - begin_ms) / 1e3;
  if (status >= 200 && status < 300) {
    served_ms[served++] = ms;
    if (second < SECONDS_MAX) served_in[second]++;
  }
  else if (status == 503) refused_ms[refused++] = ms;
  else other++;
  if (!keeps || strcasestr(c->response, "\r\nconnection: close")) { drop(c, NULL); return; }
  delist(c);
  c->state = IDLE;
  c->next = idle;
  idle = c;
}

static void read_response(client *c) {
  for (;;) {
    ssize_t read = recv(c->fd, c->response + c->length, BUFFER - 1 - c->length, 0);
    if (read < 0 && errno == EAGAIN) return;
    if (read <= 0 || c->state == IDLE) { drop(c, &errors); return; }
    c->length += read;
    if (is_complete(c)) { finish(c); return; }
  }
}

static int compare(const void *one, const void *two) {
  double difference = *(const double *)one - *(const double *)two;
  return (difference > 0) - (difference < 0);
}

static double percentile(double *values, long count, double part) {
  return count == 0 ? 0 : values[(long)((count - 1) * part)];
}

int main(int argc, char **argv) {
  if (argc < 7) { fprintf(stderr, "open-loop PORT REQUESTS_PER_SECOND SECONDS TIMEOUT_MS new|kept|kept:N FILE...\n"); return 2; }
  double rate = atof(argv[2]), seconds = atof(argv[3]), timeout_ms = atof(argv[4]);
  keeps = strncmp(argv[5], "kept", 4) == 0;
  for (int index = 6; index < argc && request_count < REQUESTS_MAX; index++, request_count++) {
    FILE *file = fopen(argv[index], "r");
    if (!file) { perror(argv[index]); return 1; }
    requests[request_count] = calloc(1, 65536);
    lengths[request_count] = fread(requests[request_count], 1, 65535, file);
    numbers[request_count] = strstr(requests[request_count], "{nnnnnn}");
    fclose(file);
  }
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){OPEN_MAX + 100, OPEN_MAX + 100});
  served_ms = malloc(sizeof(double) * (rate * seconds * 1.5 + 10000));
  refused_ms = malloc(sizeof(double) * (rate * seconds * 1.5 + 10000));
  epoll = epoll_create1(0);
  server = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(atoi(argv[1])), .sin_addr = {htonl(INADDR_LOOPBACK)}};

  for (int count = keeps && argv[5][4] == ':' ? atoi(argv[5] + 5) : 0; count > 0; count--) open_idle();
  begin_ms = now_ms();
  double next_ms = begin_ms, end_ms = next_ms + seconds * 1e3, late_ms = 0;
  int request = 0, most_open = 0;
  while (next_ms < end_ms || oldest) {
    double time_ms = now_ms();
    for (int count = 0; next_ms <= time_ms && next_ms < end_ms && count < 200; count++) {
      if (time_ms - next_ms > late_ms) late_ms = time_ms - next_ms;
      arrive(request++ % request_count);
      next_ms -= log(1 - drand48()) / rate * 1e3;
    }
    if (open_clients > most_open) most_open = open_clients;
    while (oldest && time_ms - oldest->start_ms > timeout_ms) drop(oldest, &timeouts);
    double wait_ms = next_ms < end_ms ? fmin(fmax(next_ms - time_ms, 0), 50) : 5;
    struct epoll_event events[512];
    int count = epoll_pwait2(epoll, events, 512, &(struct timespec){0, wait_ms * 1e6}, NULL);
    for (int index = 0; index < count; index++) {
      client *c = events[index].data.ptr;
      if (c->state != CONNECTING) read_response(c);
      else if (events[index].events & (EPOLLERR | EPOLLHUP)) drop(c, &errors);
      else if (events[index].events & EPOLLOUT) send_request(c);
    }
  }
  qsort(served_ms, served, sizeof(double), compare);
  qsort(refused_ms, refused, sizeof(double), compare);
  printf("{\"perSecond\":%.0f,\"served\":%ld,\"servedPerSecond\":%.0f,\"p50Ms\":%.1f,\"p99Ms\":%.1f,", rate, served,
         served / seconds, percentile(served_ms, served, 0.5), percentile(served_ms, served, 0.99));
  printf("\"refused\":%ld,\"refusedP99Ms\":%.1f,\"timeouts\":%ld,\"errors\":%ld,\"other\":%ld,\"unsent\":%ld,", refused,
         percentile(refused_ms, refused, 0.99), timeouts, errors, other, unsent);
  printf("\"mostOpen\":%d,\"lateMs\":%.0f,\"servedBySecond\":[", most_open, late_ms);
  for (int second = 0; second < seconds && second < SECONDS_MAX; second++) printf("%s%ld", second ? "," : "", served_in[second]);
  printf("]}\n");
}
