/*
 * alsaTone: plays a tone through ALSA like a program that chooses no buffer size. Prints the names of the
 * devices, the size of the buffer in milliseconds, and how late the sound is after a second. Loads the
 * library at run time, so that its development files are not needed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLAYBACK = 0, INTERLEAVED = 3, S16_LE = 2, RATE = 48000, CHANNELS = 2, PIECE = 480, HALF_WAVE = 54 };

static void *library;

static void *load(const char *name) {
  void *function = dlsym(library, name);
  if (function) return function;
  printf("error: no %s\n", name);
  exit(1);
}

/* Calls a function that returns a negative number on failure. */
#define TRY(type, name, ...)                                                                                 \
  do {                                                                                                       \
    int result = ((int(*) type)load(name))(__VA_ARGS__);                                                     \
    if (result < 0) {                                                                                        \
      printf("error: %s %d\n", name, result);                                                                \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

static void printDevices(void) {
  void **hints;
  TRY((int, const char *, void ***), "snd_device_name_hint", -1, "pcm", &hints);
  char *(*nameOf)(const void *, const char *) =
      (char *(*)(const void *, const char *))load("snd_device_name_get_hint");
  for (void **hint = hints; *hint; hint++) printf("device %s\n", nameOf(*hint, "NAME"));
}

static void *openDevice(const char *name) {
  void *pcm, *params;
  TRY((void **, const char *, int, int), "snd_pcm_open", &pcm, name, PLAYBACK, 0);
  TRY((void **), "snd_pcm_hw_params_malloc", &params);
  TRY((void *, void *), "snd_pcm_hw_params_any", pcm, params);
  TRY((void *, void *, int), "snd_pcm_hw_params_set_access", pcm, params, INTERLEAVED);
  TRY((void *, void *, int), "snd_pcm_hw_params_set_format", pcm, params, S16_LE);
  TRY((void *, void *, unsigned), "snd_pcm_hw_params_set_channels", pcm, params, CHANNELS);
  TRY((void *, void *, unsigned, int), "snd_pcm_hw_params_set_rate", pcm, params, RATE, 0);
  TRY((void *, void *), "snd_pcm_hw_params", pcm, params);
  return pcm;
}

/* Opens devices under the names that programs use for a machine's first sound card. */
static void openOthers(void) {
  static const char *const names[] = {"hw:0", "hw:0,0", "plughw:0,0", "sysdefault", "front", "dmix"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    TRY((void *), "snd_pcm_close", openDevice(names[i]));
    printf("opened %s\n", names[i]);
  }
  static const char *const mixers[] = {"default", "hw:0"};
  for (size_t i = 0; i < sizeof mixers / sizeof *mixers; i++) {
    void *mixer;
    TRY((void **, const char *, int), "snd_ctl_open", &mixer, mixers[i], 0);
    printf("opened mixer %s\n", mixers[i]);
  }
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  library = dlopen("libasound.so.2", RTLD_NOW);
  if (!library) return puts("error: no libasound.so.2"), 1;
  printDevices();
  openOthers();
  void *pcm = openDevice("default");
  unsigned long buffer, period;
  TRY((void *, unsigned long *, unsigned long *), "snd_pcm_get_params", pcm, &buffer, &period);
  printf("buffer %lu\n", buffer * 1000 / RATE);
  long (*writeFrames)(void *, const void *, unsigned long) =
      (long (*)(void *, const void *, unsigned long))load("snd_pcm_writei");
  static int16_t piece[PIECE * CHANNELS];
  for (long frame = 0;; frame += PIECE) {
    for (int i = 0; i < PIECE * CHANNELS; i++)
      piece[i] = ((frame + i / CHANNELS) / HALF_WAVE) % 2 ? 8000 : -8000;
    long written = writeFrames(pcm, piece, PIECE);
    if (written < 0) TRY((void *, int, int), "snd_pcm_recover", pcm, (int)written, 1);
    if (frame != RATE) continue;
    long late;
    TRY((void *, long *), "snd_pcm_delay", pcm, &late);
    printf("late %ld\n", late * 1000 / RATE);
  }
}
