/* Opens a game's window, and beside it a window of each type and hint in turn. Prints a line for each:
 *
 *   NAME WIDTHxHEIGHT game=WIDTHxHEIGHT focus=game|second|other */
#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 300, HEIGHT = 120, SETTLE_MS = 700 };

static Display *display;
static Window root;

static Atom atom(const char *name) { return XInternAtom(display, name, False); }

static Window create(int width, int height) {
  Window window =
      XCreateSimpleWindow(display, root, 200, 200, (unsigned)width, (unsigned)height, 0, 0, 0x204080);
  XSelectInput(display, window, StructureNotifyMask | FocusChangeMask | KeyPressMask | ButtonPressMask);
  return window;
}

static void settle(void) {
  for (int ms = 0; ms < SETTLE_MS; ms += 20) {
    while (XPending(display)) {
      XEvent event;
      XNextEvent(display, &event);
    }
    usleep(20000);
  }
}

static void report(const char *name, Window game, Window second) {
  XWindowAttributes shown, other;
  XGetWindowAttributes(display, game, &shown);
  XGetWindowAttributes(display, second, &other);
  Window focus;
  int revert;
  XGetInputFocus(display, &focus, &revert);
  printf("%s %dx%d game=%dx%d focus=%s\n", name, other.width, other.height, shown.width, shown.height,
         focus == game     ? "game"
         : focus == second ? "second"
                           : "other");
}

static void requestState(Window window, const char *state) {
  XEvent event = {.xclient = {.type = ClientMessage, .window = window, .format = 32}};
  event.xclient.message_type = atom("_NET_WM_STATE");
  event.xclient.data.l[0] = 1;
  event.xclient.data.l[1] = (long)atom(state);
  XSendEvent(display, root, False, SubstructureRedirectMask | SubstructureNotifyMask, &event);
}

static void show(const char *name, Window game) {
  Window second = create(WIDTH, HEIGHT);
  char type[64];
  snprintf(type, sizeof type, "_NET_WM_WINDOW_TYPE_%s", name);
  Atom value = atom(type);
  if (strcmp(name, "small") == 0 || strcmp(name, "above") == 0) {
    /* No hint. */
  } else if (strcmp(name, "noinput") == 0) {
    XSetWMHints(display, second, &(XWMHints){.flags = InputHint, .input = False});
  } else if (strcmp(name, "transient") == 0) {
    XSetTransientForHint(display, second, game);
  } else {
    XChangeProperty(display, second, atom("_NET_WM_WINDOW_TYPE"), XA_ATOM, 32, PropModeReplace,
                    (unsigned char *)&value, 1);
  }
  XMapWindow(display, second);
  settle();
  if (strcmp(name, "above") == 0) {
    requestState(second, "_NET_WM_STATE_ABOVE");
    settle();
  }
  report(name, game, second);
  XDestroyWindow(display, second);
  settle();
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  display = XOpenDisplay(NULL);
  if (!display) return 1;
  root = DefaultRootWindow(display);
  Window game = create(1280, 720);
  XMapWindow(display, game);
  settle();
  static const char *const names[] = {"UTILITY", "NOTIFICATION", "SPLASH", "TOOLTIP",  "DIALOG",
                                      "noinput", "small",        "above",  "transient"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) show(names[i], game);
  puts("done");
  pause();
}
