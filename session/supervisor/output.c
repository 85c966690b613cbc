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
#include "outputTail.h"

enum {
  SUSTAINED_BYTES_PER_MS = 64,
  BURST_BYTES = 1 << 20,
  LINE_COST = 64, /* the log adds a timestamp to each line, and lines cost the node more than bytes */
  LOG_DROPPED_EVERY_MS = 60000,
  CHUNK = 4096,          /* a pipe with room accepts this much without blocking */
  DRAIN_BYTES = 1 << 20, /* maximum size of a pipe */
  DRAIN_WAIT_MS = 200,
};

static int source = -1;
static long allowance = BURST_BYTES, countedMs;
static long long droppedBytes;
static long loggedMs;
static bool isMidLine;

/* Writes as much as possible within this time, because the log's reader may have stopped. Returns the
 * number of bytes written. */
static long writeWithin(int to, const char *text, long length, long withinMs) {
  long done = 0, deadline = nowMs() + withinMs;
  while (done < length) {
    struct pollfd p = {.fd = to, .events = POLLOUT};
    long left = deadline - nowMs();
    if (poll(&p, 1, left > 0 ? (int)left : 0) <= 0 || !(p.revents & POLLOUT)) break;
    long piece = length - done < CHUNK ? length - done : CHUNK;
    ssize_t written = write(to, text + done, piece);
    if (written <= 0) break;
    done += written;
  }
  return done;
}

void logLine(const char *format, ...) {
  char line[700] = "supervise: ";
  size_t start = strlen(line);
  va_list rest;
  va_start(rest, format);
  vsnprintf(line + start, sizeof line - start - 1, format, rest);
  va_end(rest);
  strcat(line, "\n");
  keepOutput(line, (long)strlen(line));
  writeWithin(STDERR_FILENO, line, (long)strlen(line), DRAIN_WAIT_MS);
}

int openOutput(void) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  /* Only this end. The game's writes block when the supervisor is late. */
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  source = ends[0];
  countedMs = loggedMs = nowMs();
  return ends[1];
}

int outputToRead(void) { return source; }

static void refill(long now) {
  allowance += (now - countedMs) * SUSTAINED_BYTES_PER_MS;
  if (allowance > BURST_BYTES) allowance = BURST_BYTES;
  countedMs = now;
}

static long costOf(char letter) { return letter == '\n' ? 1 + LINE_COST : 1; }

/* Returns how many bytes of the text the allowance covers. */
static long countAffordable(const char *text, long length) {
  long count = 0;
  for (long cost = 0; count < length && (cost += costOf(text[count])) <= allowance;) count++;
  return count;
}

static void spend(const char *text, long length) {
  for (long i = 0; i < length; i++) allowance -= costOf(text[i]);
}

static void logDropped(long now) {
  if (droppedBytes == 0 || now - loggedMs < LOG_DROPPED_EVERY_MS) return;
  if (isMidLine) writeWithin(STDOUT_FILENO, "\n", 1, 0);
  isMidLine = false;
  logLine("the game prints too much: %lld bytes were dropped", droppedBytes);
  droppedBytes = 0;
  loggedMs = now;
}

/* Reads once and forwards within this time. Returns the number of bytes read, 0 without any. */
static long forward(long withinMs) {
  static char text[64 * 1024];
  ssize_t length = source < 0 ? 0 : read(source, text, sizeof text);
  if (length == 0 && source >= 0) { /* no process holds the other end any more */
    close(source);
    source = -1;
  }
  if (length <= 0) return 0;
  keepOutput(text, length);
  refill(nowMs());
  long written = writeWithin(STDOUT_FILENO, text, countAffordable(text, length), withinMs);
  spend(text, written);
  if (written > 0) isMidLine = text[written - 1] != '\n';
  droppedBytes += length - written;
  return length;
}

void forwardOutput(void) {
  forward(0);
  logDropped(nowMs());
}

void drainOutput(void) {
  long deadline = nowMs() + DRAIN_WAIT_MS;
  for (long bytes = 0, more; bytes < DRAIN_BYTES && (more = forward(deadline - nowMs())) > 0; bytes += more) {
  }
  logDropped(loggedMs + LOG_DROPPED_EVERY_MS);
  if (source >= 0) close(source);
  source = -1;
}
