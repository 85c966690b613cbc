/*
 * A small game with a window, for tests of verifications: verifiedGame draw|black|connect. It draws another
 * picture 30 times a second, or leaves its window black, or tries to reach a server first and then draws. It
 * saves in HOME and ends after the close request.
 */
#include <X11/Xlib.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void reachServer(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(443)};
  inet_pton(AF_INET, "192.0.2.1", &address.sin_addr);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) perror("connect");
  close(fd);
}

static void saveProgress(void) {
  char path[512];
  snprintf(path, sizeof path, "%s/progress", getenv("HOME"));
  FILE *file = fopen(path, "w");
  if (!file) return;
  fputs("level 1\n", file);
  fclose(file);
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "draw";
  if (strcmp(mode, "connect") == 0) reachServer();
  saveProgress();
  Display *display = XOpenDisplay(NULL);
  if (!display) return 1;
  int screen = DefaultScreen(display);
  Window window = XCreateSimpleWindow(display, RootWindow(display, screen), 0, 0, 640, 480, 0, 0,
                                      BlackPixel(display, screen));
  Atom deleted = XInternAtom(display, "WM_DELETE_WINDOW", False);
  XSetWMProtocols(display, window, &deleted, 1);
  XMapWindow(display, window);
  GC gc = XCreateGC(display, window, 0, NULL);
  for (unsigned frame = 0;; frame++) {
    while (XPending(display)) {
      XEvent event;
      XNextEvent(display, &event);
      if (event.type == ClientMessage && (Atom)event.xclient.data.l[0] == deleted) return 0;
    }
    if (strcmp(mode, "black") != 0) {
      XSetForeground(display, gc, 0x204060 * (frame % 7 + 1));
      XFillRectangle(display, window, gc, (int)(frame * 16 % 600), 100, 80, 200);
      XFlush(display);
    }
    usleep(33000);
  }
}
