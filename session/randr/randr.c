/*
 * Stands in front of libXrandr in the game image and completes what Xvfb reports about its output: a physical
 * size, and no mode without a refresh rate. Xvfb has no request for either. Programs that find a width of
 * 0 mm or 0 Hz scale their text wrongly or divide by zero.
 */
#define _GNU_SOURCE
#include <X11/extensions/Xrandr.h>
#include <dlfcn.h>

static const double mmPerPixel = 25.4 / 96;

/* Loaded by its file name, because this library has its soname. The build passes the name. */
static XRROutputInfo *getOutputInfo(Display *display, XRRScreenResources *resources, RROutput output) {
  static __typeof__(XRRGetOutputInfo) *get;
  if (!get) {
    void *library = dlopen(ORIGINAL, RTLD_LAZY | RTLD_LOCAL);
    if (library) get = (__typeof__(get))dlsym(library, "XRRGetOutputInfo");
  }
  return get ? get(display, resources, output) : NULL;
}

static const XRRModeInfo *findMode(const XRRScreenResources *resources, RRMode mode) {
  for (int i = 0; i < resources->nmode; i++)
    if (resources->modes[i].id == mode) return &resources->modes[i];
  return NULL;
}

/* Leaves out modes without a refresh rate, unless there are no others. */
static void hideModes(const XRRScreenResources *resources, XRROutputInfo *info) {
  int shown = 0;
  for (int i = 0; i < info->nmode; i++) {
    const XRRModeInfo *mode = findMode(resources, info->modes[i]);
    if (mode && mode->dotClock > 0) shown++;
  }
  if (shown == 0) return;
  int count = 0;
  for (int i = 0; i < info->nmode; i++) {
    const XRRModeInfo *mode = findMode(resources, info->modes[i]);
    if (mode && mode->dotClock > 0) info->modes[count++] = info->modes[i];
  }
  info->nmode = count;
  if (info->npreferred > count) info->npreferred = count;
}

__attribute__((visibility("default"))) XRROutputInfo *
XRRGetOutputInfo(Display *display, XRRScreenResources *resources, RROutput output) {
  XRROutputInfo *info = getOutputInfo(display, resources, output);
  if (!info || info->connection != RR_Connected) return info;
  hideModes(resources, info);
  XRRCrtcInfo *crtc =
      info->mm_width == 0 && info->crtc ? XRRGetCrtcInfo(display, resources, info->crtc) : NULL;
  if (!crtc) return info;
  info->mm_width = (unsigned long)(crtc->width * mmPerPixel + 0.5);
  info->mm_height = (unsigned long)(crtc->height * mmPerPixel + 0.5);
  XRRFreeCrtcInfo(crtc);
  return info;
}
