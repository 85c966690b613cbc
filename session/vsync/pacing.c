/*
 * Mesa's software renderer shows frames by copying them to the X server, which has no refresh that it could
 * wait for: games with vertical sync would run as fast as the processor allows. This library stands between
 * libglvnd and Mesa (glx.c, egl.c, vulkan.c) and makes each swap wait for the next refresh, at the rate that
 * RandR reports.
 */
#define _GNU_SOURCE
#include "pacing.h"

#include <X11/Xlib.h>
#include <X11/extensions/Xrandr.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_DRAWABLES = 64, NS_PER_S = 1000000000 };

static const double defaultRate = 60, minRate = 10, maxRate = 1000;

typedef struct {
  uint64_t drawable;
  int interval;
  int64_t nextNs, usedNs; /* monotonic */
} Frames;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Frames frames[MAX_DRAWABLES];
static pthread_once_t rateOnce = PTHREAD_ONCE_INIT;
static int64_t refreshNs;

void *symbolOf(void **library, const char *file, const char *name) {
  if (!*library) *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
  return *library ? dlsym(*library, name) : NULL;
}

static int64_t nowNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* The functions of libX11 and libXrandr, which are loaded when they are needed: a program may use neither. */
static void *x11, *xrandr;
#define CALL(library, file, function) ((__typeof__(function) *)symbolOf(&(library), file, #function))
#define X11(function) CALL(x11, "libX11.so.6", function)
#define XRANDR(function) CALL(xrandr, "libXrandr.so.2", function)

static double rateOf(const XRRScreenResources *resources, RRMode mode) {
  for (int i = 0; i < resources->nmode; i++) {
    const XRRModeInfo *info = &resources->modes[i];
    if (info->id == mode && info->hTotal > 0 && info->vTotal > 0)
      return (double)info->dotClock / ((double)info->hTotal * info->vTotal);
  }
  return 0;
}

/* Returns the rate of the display's first active mode in Hz; 0 if it is unknown. */
static double readRate(Display *display) {
  double rate = 0;
  XRRScreenResources *resources =
      XRANDR(XRRGetScreenResourcesCurrent)(display, X11(XDefaultRootWindow)(display));
  for (int i = 0; resources && i < resources->ncrtc && rate == 0; i++) {
    XRRCrtcInfo *crtc = XRANDR(XRRGetCrtcInfo)(display, resources, resources->crtcs[i]);
    if (!crtc) continue;
    rate = rateOf(resources, crtc->mode);
    XRANDR(XRRFreeCrtcInfo)(crtc);
  }
  if (resources) XRANDR(XRRFreeScreenResources)(resources);
  return rate;
}

/* On a connection of its own, because the program's may be in use by another thread. */
static void findRate(void) {
  double rate = 0;
  if (X11(XOpenDisplay) && XRANDR(XRRGetScreenResourcesCurrent)) {
    Display *display = X11(XOpenDisplay)(NULL);
    if (display) {
      rate = readRate(display);
      X11(XCloseDisplay)(display);
    }
  }
  if (rate < minRate || rate > maxRate) rate = defaultRate;
  refreshNs = (int64_t)(NS_PER_S / rate);
}

/* Returns the drawable's entry, which replaces the one that was unused for longest. Call with the lock. */
static Frames *framesOf(uint64_t drawable) {
  Frames *oldest = &frames[0];
  for (int i = 0; i < MAX_DRAWABLES; i++) {
    if (frames[i].usedNs != 0 && frames[i].drawable == drawable) {
      oldest = &frames[i];
      break;
    }
    if (frames[i].usedNs < oldest->usedNs) oldest = &frames[i];
  }
  if (oldest->usedNs == 0 || oldest->drawable != drawable)
    *oldest = (Frames){.drawable = drawable, .interval = 1}; /* EXT_swap_control's initial value */
  oldest->usedNs = nowNs();
  return oldest;
}

int swapIntervalOf(uint64_t drawable) {
  pthread_mutex_lock(&lock);
  int interval = framesOf(drawable)->interval;
  pthread_mutex_unlock(&lock);
  return interval;
}

void setSwapInterval(uint64_t drawable, int interval) {
  pthread_mutex_lock(&lock);
  framesOf(drawable)->interval = abs(interval);
  pthread_mutex_unlock(&lock);
}

void waitForRefresh(uint64_t drawable) {
  pthread_once(&rateOnce, findRate);
  pthread_mutex_lock(&lock);
  Frames *own = framesOf(drawable);
  int64_t dueNs = own->nextNs, now = own->usedNs;
  int64_t intervalNs = own->interval * refreshNs;
  /* A late frame does not delay the next, so that the rate is kept; one that is much later starts anew. */
  own->nextNs = (now > dueNs + refreshNs ? now : dueNs) + intervalNs;
  bool isPaced = own->interval > 0 && dueNs > now;
  pthread_mutex_unlock(&lock);
  struct timespec due = {.tv_sec = dueNs / NS_PER_S, .tv_nsec = dueNs % NS_PER_S};
  while (isPaced && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) != 0) continue;
}
