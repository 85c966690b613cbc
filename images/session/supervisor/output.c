#define _GNU_SOURCE
#include "output.h"

#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

enum {
  SUSTAINED_BYTES_PER_MS = 64,
  BURST_BYTES = 1 << 20,
  LINE_COST = 64, /* the log gives each line a time stamp, and the node works by lines more than by bytes */
  TELL_EVERY_MS = 60000,
  PIECE = 4096, /* a pipe that has room takes so much without blocking */
  LAST_BYTES = 1 << 20, /* a pipe holds no more */
  LAST_WAIT_MS = 200,
};

static int source = -1;
static long allowance = BURST_BYTES, countedMs;
static long long droppedBytes;
static long toldMs;
static bool isMidLine;

/* Writes what can be written within this time; the log's reader may have stopped reading for good. Returns how much that was. */
static long put(int to, const char *text, long length, long withinMs) {
  long done = 0, deadline = nowMs() + withinMs;
  while (done < length) {
    struct pollfd p = {.fd = to, .events = POLLOUT};
    long left = deadline - nowMs();
    if (poll(&p, 1, left > 0 ? (int)left : 0) <= 0 || !(p.revents & POLLOUT)) break;
    long piece = length - done < PIECE ? length - done : PIECE;
    ssize_t written = write(to, text + done, piece);
    if (written <= 0) break;
    done += written;
  }
  return done;
}

void say(const char *format, ...) {
  char line[700] = "supervise: ";
  size_t start = strlen(line);
  va_list rest;
  va_start(rest, format);
  vsnprintf(line + start, sizeof line - start - 1, format, rest);
  va_end(rest);
  strcat(line, "\n");
  put(STDERR_FILENO, line, (long)strlen(line), LAST_WAIT_MS);
}

int openOutput(void) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  /* Of this end alone: the game's own writes wait when the supervisor is late. */
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  source = ends[0];
  countedMs = toldMs = nowMs();
  return ends[1];
}

int outputToRead(void) { return source; }

static void refill(long now) {
  allowance += (now - countedMs) * SUSTAINED_BYTES_PER_MS;
  if (allowance > BURST_BYTES) allowance = BURST_BYTES;
  countedMs = now;
}

static long costOf(char letter) { return letter == '\n' ? 1 + LINE_COST : 1; }

/* How much of the text may go on now. */
static long allowed(const char *text, long length) {
  long count = 0;
  for (long cost = 0; count < length && (cost += costOf(text[count])) <= allowance;) count++;
  return count;
}

static void pay(const char *text, long length) {
  for (long i = 0; i < length; i++) allowance -= costOf(text[i]);
}

static void tellDropped(long now) {
  if (droppedBytes == 0 || now - toldMs < TELL_EVERY_MS) return;
  if (isMidLine) put(STDOUT_FILENO, "\n", 1, 0);
  isMidLine = false;
  say("the game prints more than is kept: %lld bytes of it were dropped", droppedBytes);
  droppedBytes = 0;
  toldMs = now;
}

/* Reads once and hands on within this time; 0 when there was nothing. */
static long forward(long withinMs) {
  static char text[64 * 1024];
  ssize_t length = source < 0 ? 0 : read(source, text, sizeof text);
  if (length == 0 && source >= 0) { /* no process is left that could print */
    close(source);
    source = -1;
  }
  if (length <= 0) return 0;
  refill(nowMs());
  long written = put(STDOUT_FILENO, text, allowed(text, length), withinMs);
  pay(text, written);
  if (written > 0) isMidLine = text[written - 1] != '\n';
  droppedBytes += length - written;
  return length;
}

void forwardOutput(void) {
  forward(0);
  tellDropped(nowMs());
}

void drainOutput(void) {
  long deadline = nowMs() + LAST_WAIT_MS;
  for (long bytes = 0, more; bytes < LAST_BYTES && (more = forward(deadline - nowMs())) > 0; bytes += more) {}
  tellDropped(toldMs + TELL_EVERY_MS);
  if (source >= 0) close(source);
  source = -1;
}
