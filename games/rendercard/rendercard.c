/* A game for tests: shows one colour with OpenGL or Vulkan, and the next one on each key press. See
 * README.md. */
#define _GNU_SOURCE
#include "rendercard.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct color cycle[] = {
    {0xc0 / 255.0f, 0, 0},
    {0, 0xc0 / 255.0f, 0},
    {0, 0, 0xc0 / 255.0f},
    {0xc0 / 255.0f, 0xc0 / 255.0f, 0},
    {0, 0xc0 / 255.0f, 0xc0 / 255.0f},
    {0xc0 / 255.0f, 0, 0xc0 / 255.0f},
};
static const struct timespec frame = {.tv_nsec = 1000000000 / 60};

static volatile sig_atomic_t isStopping;

static void stop(int number) {
  (void)number;
  isStopping = 1;
}

void fail(const char *what) {
  fprintf(stderr, "rendercard: %s\n", what);
  exit(1);
}

Window openWindow(Display *display, const XVisualInfo *visual) {
  int screen = DefaultScreen(display);
  Window root = RootWindow(display, screen);
  XSetWindowAttributes attributes = {
      .border_pixel = 0,
      .colormap = XCreateColormap(display, root, visual->visual, AllocNone),
      .event_mask = KeyPressMask | StructureNotifyMask,
  };
  Window window = XCreateWindow(display, root, 0, 0, (unsigned)DisplayWidth(display, screen),
                                (unsigned)DisplayHeight(display, screen), 0, visual->depth, InputOutput,
                                visual->visual, CWBorderPixel | CWColormap | CWEventMask, &attributes);
  XMapWindow(display, window);
  XEvent event;
  do XNextEvent(display, &event);
  while (event.type != MapNotify);
  return window;
}

int main(int argc, char **argv) {
  signal(SIGTERM, stop);
  Display *display = XOpenDisplay(NULL);
  if (!display) fail("the display takes no connection");
  const struct renderer *renderer = argc > 1 && strcmp(argv[1], "vulkan") == 0 ? &vulkan : &gl;
  renderer->open(display);
  for (unsigned presses = 0; !isStopping; nanosleep(&frame, NULL)) {
    while (XPending(display)) {
      XEvent event;
      XNextEvent(display, &event);
      if (event.type == KeyPress) presses++;
    }
    renderer->draw(cycle[presses % (sizeof cycle / sizeof *cycle)]);
  }
  return 0;
}
