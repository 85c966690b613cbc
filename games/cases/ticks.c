/* Writes when the close request and SIGTERM arrive, and then a tick every 0.1 s until it is killed. */
#include <X11/Xlib.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int file;
static volatile sig_atomic_t isTerminated;

static void say(const char *what) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  dprintf(file, "%s %lld\n", what, now.tv_sec * 1000LL + now.tv_nsec / 1000000);
}

static void terminate(int number) {
  (void)number;
  isTerminated = 1;
}

int main(void) {
  char path[256];
  snprintf(path, sizeof path, "%s/ticks.txt", getenv("HOME"));
  file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  signal(SIGTERM, terminate);
  Display *display = XOpenDisplay(NULL);
  if (!display || file < 0) return 1;
  Window window = XCreateSimpleWindow(display, DefaultRootWindow(display), 0, 0, 1280, 720, 0, 0, 0x2060a0);
  Atom delete = XInternAtom(display, "WM_DELETE_WINDOW", False);
  XSetWMProtocols(display, window, &delete, 1);
  XMapWindow(display, window);
  XSync(display, False);
  puts("ready");
  fflush(stdout);
  for (int isSaid = 0;;) {
    while (XPending(display)) {
      XEvent event;
      XNextEvent(display, &event);
      if (event.type == ClientMessage && (Atom)event.xclient.data.l[0] == delete) say("close");
    }
    if (isTerminated) say(isSaid++ ? "tick" : "term");
    usleep(100000);
  }
}
