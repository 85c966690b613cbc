/*
 * displayprobe COMMAND: probes the display in DISPLAY and prints findings as lines of `name value`.
 *
 * - size WIDTH HEIGHT: sets the display's size with RandR
 * - gl [FRAMES]: draws with OpenGL, reads the picture back as the capture does, and times this many frames
 * - egl [FRAMES]: the same with OpenGL ES on EGL
 * - vulkan [FRAMES]: the same with a Vulkan swapchain
 * - play SECONDS: draws moving stripes with OpenGL at up to 60 frames per second, and prints how many they
 * are
 * - manager: the name of the window manager; none if there is none
 * - output: the first output's mode, refresh rate in Hz, number of modes, and size in millimetres
 * - extensions: lists the extensions of the display's protocol, each with its number
 *
 * Without a display:
 *
 * - eglDevices: what EGL renders with on each of its devices
 * - vulkanDevices: the devices of Vulkan
 * - gbm NODE: GBM's back end for a render node, and what EGL renders with on it
 *
 * Exits with 0 when the command succeeded. A driver may also crash or hang it, so the caller sets a deadline.
 */
#include "displayprobe.h"

#include <X11/Xatom.h>
#include <X11/Xutil.h>
#include <X11/extensions/XShm.h>
#include <X11/extensions/Xrandr.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 40, TRY_EVERY_US = 25000, TOLERANCE = 3, MAX_LINE = 160 };

void fail(const char *what) {
  fprintf(stderr, "displayprobe: %s\n", what);
  exit(1);
}

/* Prints one line of printable characters, whatever name a driver has. */
void printFinding(const char *name, const char *value) {
  char line[MAX_LINE];
  snprintf(line, sizeof line, "%s", value ? value : "");
  for (char *c = line; *c; c++)
    if (*c < ' ' || *c > '~') *c = '?';
  printf("%s %s\n", name, line);
  fflush(stdout);
}

double nowMs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

void timeFrames(const char *name, int frames, void (*draw)(void *), void *drawing) {
  if (frames < 1) return;
  char text[32];
  double before = nowMs();
  for (int frame = 0; frame < frames; frame++) draw(drawing);
  snprintf(text, sizeof text, "%.2f", (nowMs() - before) / frames);
  printFinding(name, text);
}

Window openWindow(Display *display, XVisualInfo *visual, int *width, int *height) {
  int screen = DefaultScreen(display);
  Window root = RootWindow(display, screen);
  *width = DisplayWidth(display, screen);
  *height = DisplayHeight(display, screen);
  XSetWindowAttributes attributes = {
      .override_redirect = True,
      .border_pixel = 0,
      .colormap = XCreateColormap(display, root, visual->visual, AllocNone),
  };
  Window window =
      XCreateWindow(display, root, 0, 0, (unsigned)*width, (unsigned)*height, 0, visual->depth, InputOutput,
                    visual->visual, CWOverrideRedirect | CWBorderPixel | CWColormap, &attributes);
  XMapRaised(display, window);
  XSync(display, False);
  return window;
}

static XImage *attachImage(Display *display, XShmSegmentInfo *segment) {
  int screen = DefaultScreen(display);
  XImage *image = XShmCreateImage(
      display, DefaultVisual(display, screen), (unsigned)DefaultDepth(display, screen), ZPixmap, NULL,
      segment, (unsigned)DisplayWidth(display, screen), (unsigned)DisplayHeight(display, screen));
  if (!image) fail("the display has no shared images");
  segment->shmid =
      shmget(IPC_PRIVATE, (size_t)image->bytes_per_line * (size_t)image->height, IPC_CREAT | 0600);
  if (segment->shmid < 0) fail("there is no shared memory");
  segment->shmaddr = image->data = shmat(segment->shmid, NULL, 0);
  segment->readOnly = False;
  XShmAttach(display, segment);
  XSync(display, False);
  shmctl(segment->shmid, IPC_RMID, NULL);
  return image;
}

static bool isColor(unsigned long pixel, unsigned long color) {
  for (int shift = 0; shift <= 16; shift += 8) {
    if (labs((long)(pixel >> shift & 255) - (long)(color >> shift & 255)) > TOLERANCE) return false;
  }
  return true;
}

/* Checks all corners and the middle, because a partial picture is wrong. */
static bool showsColor(XImage *image, unsigned long color) {
  int right = image->width - 2, bottom = image->height - 2;
  int points[][2] = {{1, 1}, {right, 1}, {1, bottom}, {right, bottom}, {right / 2, bottom / 2}};
  for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
    if (!isColor(XGetPixel(image, points[i][0], points[i][1]), color)) return false;
  }
  return true;
}

void expectCaptured(Display *display, const char *name, unsigned long color, void (*draw)(void *),
                    void *drawing) {
  XShmSegmentInfo segment;
  XImage *image = attachImage(display, &segment);
  for (int try = 0; try < TRIES; try++) {
    draw(drawing);
    XShmGetImage(display, RootWindow(display, DefaultScreen(display)), image, 0, 0, AllPlanes);
    if (showsColor(image, color)) {
      printFinding(name, "right");
      return;
    }
    usleep(TRY_EVERY_US);
  }
  char seen[32];
  snprintf(seen, sizeof seen, "wrong: %06lx",
           XGetPixel(image, image->width / 2, image->height / 2) & 0xffffff);
  printFinding(name, seen);
  fail("what was drawn is not what is captured");
}

/* Returns the output's mode of this size, and creates it if there is none. */
static RRMode findOrCreateMode(Display *display, Window root, XRRScreenResources *resources, RROutput output,
                               unsigned width, unsigned height) {
  XRROutputInfo *info = XRRGetOutputInfo(display, resources, output);
  for (int i = 0; info && i < info->nmode; i++) {
    for (int j = 0; j < resources->nmode; j++) {
      XRRModeInfo *mode = &resources->modes[j];
      if (mode->id == info->modes[i] && mode->width == width && mode->height == height) return mode->id;
    }
  }
  char name[32];
  snprintf(name, sizeof name, "%ux%u", width, height);
  XRRModeInfo made = {
      .width = width,
      .height = height,
      .dotClock = (unsigned long)(width + 8) * (height + 8) * 60,
      .hSyncStart = width + 2,
      .hSyncEnd = width + 4,
      .hTotal = width + 8,
      .vSyncStart = height + 2,
      .vSyncEnd = height + 4,
      .vTotal = height + 8,
      .name = name,
      .nameLength = (unsigned)strlen(name),
  };
  RRMode mode = XRRCreateMode(display, root, &made);
  XRRAddOutputMode(display, output, mode);
  return mode;
}

static void setSize(Display *display, unsigned width, unsigned height) {
  int screen = DefaultScreen(display);
  Window root = RootWindow(display, screen);
  XRRScreenResources *resources = XRRGetScreenResourcesCurrent(display, root);
  if (!resources || resources->noutput < 1 || resources->ncrtc < 1) fail("the display has no output");
  RROutput output = resources->outputs[0];
  RRMode mode = findOrCreateMode(display, root, resources, output, width, height);
  if (XRRSetCrtcConfig(display, resources, resources->crtcs[0], CurrentTime, 0, 0, mode, RR_Rotate_0, &output,
                       1) != RRSetConfigSuccess) {
    fail("the display does not take the size");
  }
  for (int try = 0; try < TRIES; try++) {
    XWindowAttributes attributes;
    XGetWindowAttributes(display, root, &attributes);
    if (attributes.width == (int)width && attributes.height == (int)height) return;
    usleep(TRY_EVERY_US);
  }
  fail("the display keeps another size");
}

/* Finds the window manager as toolkits do (EWMH, _NET_SUPPORTING_WM_CHECK). */
static void printManager(Display *display) {
  Atom type;
  int format;
  unsigned long count, left;
  unsigned char *check = NULL, *name = NULL;
  XGetWindowProperty(display, DefaultRootWindow(display),
                     XInternAtom(display, "_NET_SUPPORTING_WM_CHECK", False), 0, 1, False, XA_WINDOW, &type,
                     &format, &count, &left, &check);
  if (check && count == 1)
    XGetWindowProperty(display, *(Window *)check, XInternAtom(display, "_NET_WM_NAME", False), 0, 64, False,
                       XInternAtom(display, "UTF8_STRING", False), &type, &format, &count, &left, &name);
  printFinding("manager", name ? (char *)name : "none");
}

static void printOutput(Display *display) {
  XRRScreenResources *resources =
      XRRGetScreenResourcesCurrent(display, RootWindow(display, DefaultScreen(display)));
  if (!resources || resources->noutput < 1) fail("the display has no output");
  XRROutputInfo *output = XRRGetOutputInfo(display, resources, resources->outputs[0]);
  XRRCrtcInfo *crtc = output && output->crtc ? XRRGetCrtcInfo(display, resources, output->crtc) : NULL;
  if (!crtc) fail("the output is off");
  char text[64];
  for (int i = 0; i < resources->nmode; i++) {
    XRRModeInfo *mode = &resources->modes[i];
    if (mode->id != crtc->mode) continue;
    snprintf(text, sizeof text, "%ux%u", mode->width, mode->height);
    printFinding("mode", text);
    double dots = (double)mode->hTotal * mode->vTotal;
    snprintf(text, sizeof text, "%.2f", dots > 0 ? (double)mode->dotClock / dots : 0);
    printFinding("rate", text);
  }
  snprintf(text, sizeof text, "%d", output->nmode);
  printFinding("modes", text);
  snprintf(text, sizeof text, "%lux%lu", output->mm_width, output->mm_height);
  printFinding("millimetres", text);
}

static void printExtensions(Display *display) {
  int count = 0;
  char **extensions = XListExtensions(display, &count);
  for (int i = 0; extensions && i < count; i++) {
    char name[32];
    snprintf(name, sizeof name, "extension%d", i + 1);
    printFinding(name, extensions[i]);
  }
  XFreeExtensionList(extensions);
}

/* Returns whether the command is one that needs no display. */
static bool runsWithoutDisplay(const char *command, int argc, char **argv) {
  if (strcmp(command, "eglDevices") == 0)
    printEglDevices();
  else if (strcmp(command, "vulkanDevices") == 0)
    printVulkanDevices();
  else if (strcmp(command, "gbm") == 0 && argc == 3)
    printGbm(argv[2]);
  else
    return false;
  return true;
}

int main(int argc, char **argv) {
  const char *command = argc > 1 ? argv[1] : "";
  if (runsWithoutDisplay(command, argc, argv)) return 0;
  Display *display = XOpenDisplay(NULL);
  if (!display) fail("the display takes no connection");
  if (strcmp(command, "size") == 0 && argc == 4)
    setSize(display, (unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]));
  else if (strcmp(command, "gl") == 0)
    probeGl(display, argc > 2 ? atoi(argv[2]) : 0);
  else if (strcmp(command, "egl") == 0)
    probeEgl(display, argc > 2 ? atoi(argv[2]) : 0);
  else if (strcmp(command, "play") == 0 && argc == 3)
    playGl(display, atoi(argv[2]));
  else if (strcmp(command, "vulkan") == 0)
    probeVulkan(display, argc > 2 ? atoi(argv[2]) : 0);
  else if (strcmp(command, "manager") == 0)
    printManager(display);
  else if (strcmp(command, "output") == 0)
    printOutput(display);
  else if (strcmp(command, "extensions") == 0)
    printExtensions(display);
  else
    fail("the command is unknown; displayprobe.c lists all");
  XCloseDisplay(display);
  return 0;
}
