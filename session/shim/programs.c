/*
 * Notes programs that make system calls without the C library, so that this one cannot emulate anything for
 * them: statically linked ones and those written in Go. The supervisor logs the notes, because such a
 * program only says that its address family is not supported.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loopbackAddress.h"
#include "next.h"
#include "observations.h"

enum { MAX_NOTES = 4096, MAX_HEADERS = 32, NOTE_BYTES = 256, GO_NOTE_NAME = 12 };

static bool hasGoNote(int file, const Elf64_Phdr *header) {
  char note[NOTE_BYTES];
  size_t size = header->p_filesz < sizeof note ? header->p_filesz : sizeof note;
  ssize_t count = pread(file, note, size, (off_t)header->p_offset);
  return count >= GO_NOTE_NAME + 3 && memcmp(note + GO_NOTE_NAME, "Go", 3) == 0;
}

/* Returns whether this library cannot override the system calls of a program. Scripts and 32-bit programs are
 * none of those: their interpreter or loader decides. */
static bool bypassesLibrary(int file) {
  Elf64_Ehdr elf;
  Elf64_Phdr headers[MAX_HEADERS];
  if (pread(file, &elf, sizeof elf, 0) != sizeof elf || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0)
    return false;
  if (elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_phentsize != sizeof *headers) return false;
  size_t count = elf.e_phnum < MAX_HEADERS ? elf.e_phnum : MAX_HEADERS;
  ssize_t size = (ssize_t)(count * sizeof *headers);
  if (pread(file, headers, (size_t)size, (off_t)elf.e_phoff) != size) return false;
  bool isStatic = true;
  for (size_t i = 0; i < count; i++) {
    if (headers[i].p_type == PT_INTERP) isStatic = false;
    if (headers[i].p_type == PT_NOTE && hasGoNote(file, &headers[i])) return true;
  }
  return isStatic;
}

/* Appends a line to the notes unless they have it. The file stays small: each program is noted once. */
static void addNote(const char *path) {
  char line[PATH_MAX + 1], notes[MAX_NOTES + 1], name[PATH_MAX];
  snprintf(name, sizeof name, "%s/programs", loopbackFolder());
  mkdir(loopbackFolder(), 0700);
  int file = open(name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  observe("program", path);
  int length = snprintf(line, sizeof line, "%s\n", path);
  ssize_t size = pread(file, notes, MAX_NOTES, 0);
  notes[size > 0 ? size : 0] = '\0';
  if (size >= 0 && size + length <= MAX_NOTES && !strstr(notes, line) &&
      write(file, line, (size_t)length) < 0) { /* best effort */
  }
  close(file);
}

static void inspect(const char *path) {
  int before = errno, file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file >= 0) {
    if (bypassesLibrary(file)) addNote(path);
    close(file);
  }
  errno = before;
}

/* Inspects what the C library finds for a name in PATH. */
static void inspectInPath(const char *name) {
  char path[PATH_MAX];
  const char *folders = getenv("PATH");
  if (strchr(name, '/') || !folders) {
    inspect(name);
    return;
  }
  while (*folders) {
    size_t length = strcspn(folders, ":");
    snprintf(path, sizeof path, "%.*s/%s", (int)length, folders, name);
    if (access(path, X_OK) == 0) {
      inspect(path);
      return;
    }
    folders += length + (folders[length] == ':');
  }
}

OVERRIDES(execve)
OVERRIDE int execve(const char *path, char *const arguments[], char *const environment[]) {
  inspect(path);
  return NEXT(execve)(path, arguments, environment);
}

OVERRIDES(execv)
OVERRIDE int execv(const char *path, char *const arguments[]) {
  inspect(path);
  return NEXT(execv)(path, arguments);
}

OVERRIDES(execvp)
OVERRIDE int execvp(const char *name, char *const arguments[]) {
  inspectInPath(name);
  return NEXT(execvp)(name, arguments);
}

OVERRIDES(execvpe)
OVERRIDE int execvpe(const char *name, char *const arguments[], char *const environment[]) {
  inspectInPath(name);
  return NEXT(execvpe)(name, arguments, environment);
}

OVERRIDES(posix_spawn)
OVERRIDE int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *attributes, char *const arguments[],
                         char *const environment[]) {
  inspect(path);
  return NEXT(posix_spawn)(pid, path, actions, attributes, arguments, environment);
}

OVERRIDES(posix_spawnp)
OVERRIDE int posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *actions,
                          const posix_spawnattr_t *attributes, char *const arguments[],
                          char *const environment[]) {
  inspectInPath(name);
  return NEXT(posix_spawnp)(pid, name, actions, attributes, arguments, environment);
}
