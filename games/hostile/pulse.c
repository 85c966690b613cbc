/* Asks the sound server, which runs in the streamer container, to load modules. Some of them open sockets
 * and files. */
#define _GNU_SOURCE
#include "hostile.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

enum { CONTEXT_READY = 4, CONTEXT_FAILED = 5, NO_INDEX = -1, WAIT_SECONDS = 5 };

/* The functions of libpulse used here, with the types of its headers. */
static struct {
  void *(*newLoop)(void);
  void *(*apiOf)(void *loop);
  int (*iterate)(void *loop, int isBlocking, int *result);
  void *(*newContext)(void *api, const char *name);
  int (*connect)(void *context, const char *server, int flags, const void *spawn);
  int (*stateOf)(const void *context);
  int (*errorOf)(const void *context);
  const char *(*textOf)(int error);
  void *(*loadModule)(void *context, const char *name, const char *argument,
                      void (*done)(void *, uint32_t, void *), void *data);
} pulse;

static bool hasAnswered;
static uint32_t loadedIndex;

static void onLoaded(void *context, uint32_t index, void *data) {
  (void)context;
  (void)data;
  hasAnswered = true;
  loadedIndex = index;
}

static bool findFunctions(void) {
  void *library = dlopen("libpulse.so.0", RTLD_NOW);
  if (!library) return false;
  *(void **)&pulse.newLoop = dlsym(library, "pa_mainloop_new");
  *(void **)&pulse.apiOf = dlsym(library, "pa_mainloop_get_api");
  *(void **)&pulse.iterate = dlsym(library, "pa_mainloop_iterate");
  *(void **)&pulse.newContext = dlsym(library, "pa_context_new");
  *(void **)&pulse.connect = dlsym(library, "pa_context_connect");
  *(void **)&pulse.stateOf = dlsym(library, "pa_context_get_state");
  *(void **)&pulse.errorOf = dlsym(library, "pa_context_errno");
  *(void **)&pulse.textOf = dlsym(library, "pa_strerror");
  *(void **)&pulse.loadModule = dlsym(library, "pa_context_load_module");
  return pulse.newLoop && pulse.apiOf && pulse.iterate && pulse.newContext && pulse.connect &&
         pulse.stateOf && pulse.errorOf && pulse.textOf && pulse.loadModule;
}

static bool isConnected(void *loop, void *context) {
  if (pulse.connect(context, NULL, 0, NULL) < 0) return false;
  for (double deadline = seconds() + WAIT_SECONDS; seconds() < deadline; sleepSeconds(0.01)) {
    while (pulse.iterate(loop, 0, NULL) > 0) {
    }
    if (pulse.stateOf(context) >= CONTEXT_READY) break;
  }
  return pulse.stateOf(context) == CONTEXT_READY;
}

static void tryModule(void *loop, void *context, const char *module, const char *argument) {
  char name[96];
  snprintf(name, sizeof name, "pulse %s", module);
  hasAnswered = false;
  pulse.loadModule(context, module, argument, onLoaded, NULL);
  for (double deadline = seconds() + WAIT_SECONDS; seconds() < deadline && !hasAnswered; sleepSeconds(0.01))
    while (pulse.iterate(loop, 0, NULL) > 0) {
    }
  if (!hasAnswered)
    printResult(name, "no answer");
  else if (loadedIndex == (uint32_t)NO_INDEX)
    printResult(name, "refused: %s", pulse.textOf(pulse.errorOf(context)));
  else
    printResult(name, "allowed");
}

void tryPulseAudio(void) {
  if (!findFunctions()) {
    printResult("pulse", "no libpulse");
    return;
  }
  void *loop = pulse.newLoop(), *context = pulse.newContext(pulse.apiOf(loop), "hostile");
  if (!isConnected(loop, context)) {
    printResult("pulse", "not connected: %s", pulse.textOf(pulse.errorOf(context)));
    return;
  }
  printResult("pulse", "connected");
  tryModule(loop, context, "module-tunnel-sink", "server=203.0.113.10");
  tryModule(loop, context, "module-native-protocol-tcp", "port=4713 auth-anonymous=1");
  tryModule(loop, context, "module-pipe-sink", "file=/tmp/hostile-pipe");
  tryModule(loop, context, "module-null-sink", "sink_name=hostile");
}
