/* A lock for tables of this library. A signal handler cannot run while its thread holds the lock, and fork
 * waits for the lock, so that neither a handler nor a child finds it taken. */
#pragma once
#include <pthread.h>
#include <signal.h>

struct lock {
  pthread_mutex_t mutex;
  sigset_t signals; /* mask to restore */
};

static inline void acquire(struct lock *lock) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_mutex_lock(&lock->mutex);
  lock->signals = before;
}

static inline void release(struct lock *lock) {
  sigset_t before = lock->signals;
  pthread_mutex_unlock(&lock->mutex);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}
