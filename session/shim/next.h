/* For functions of this library that override one of the C library and call it. */
#pragma once
#include <dlfcn.h>

/* Marks what the dynamic linker may use instead of the C library's. Everything else stays hidden, so that it
 * overrides no function of a game with the same name. */
#define OVERRIDE __attribute__((visibility("default")))

/* An overridden function, for programs that look it up in the C library by name. */
struct override {
  const char *name;
  void *function;
  void **original;
};

/* Declares that this file overrides a function. The original is looked up when the library is loaded: a
 * look-up in a signal handler or after a fork could wait forever for the linker's lock. */
#define OVERRIDES(function)                                                                                  \
  static __typeof__(&function) next_##function;                                                              \
  __attribute__((constructor)) static void find_##function(void) {                                           \
    next_##function = (__typeof__(&function))dlsym(RTLD_NEXT, #function);                                    \
  }                                                                                                          \
  static struct override override_##function = {#function, (void *)function, (void **)&next_##function};     \
  __attribute__((section("overrides"), used)) static struct override *entry_##function = &override_##function;

/* Returns the original. Constructors of other libraries can call an override before this library's have
 * run. */
#define NEXT(function) (next_##function ? next_##function : (find_##function(), next_##function))
