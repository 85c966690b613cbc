/*
 * Look-ups of functions by name. Mono, Java and Python programs call the C library through a handle of it,
 * which leads past every preloaded library. They get this library's function instead.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>

#include "next.h"

typedef void *lookUp(void *handle, const char *name);

/* The linker sets these to the bounds of the section that OVERRIDES fills. */
extern struct override *__start_overrides[] __attribute__((visibility("hidden")));
extern struct override *__stop_overrides[] __attribute__((visibility("hidden")));

static lookUp *original;

/* A version is needed to get past the override below. */
__attribute__((constructor)) static void findOriginal(void) {
  static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
  for (size_t i = 0; i < sizeof versions / sizeof *versions && !original; i++)
    original = (lookUp *)dlvsym(RTLD_NEXT, "dlsym", versions[i]);
}

/* Returns this library's function if the name stands for the C library's, or NULL. */
static void *findOverride(void *handle, const char *name) {
  for (struct override **entry = __start_overrides; entry < __stop_overrides; entry++)
    if (strcmp((*entry)->name, name) == 0)
      return original(handle, name) == *(*entry)->original ? (*entry)->function : NULL;
  return NULL;
}

/* The last call must be a jump: with the pseudo-handles, the linker looks at the address of the caller. */
OVERRIDE void *dlsym(void *handle, const char *name) {
  if (!original) findOriginal();
  if (handle != RTLD_NEXT && handle != RTLD_DEFAULT) {
    void *override = findOverride(handle, name);
    if (override) return override;
  }
  return original(handle, name);
}
