/*
 * A game for tests: its picture depends only on the input, so that a test can read it from decoded pixels.
 * See README.md for the layout. Keys Q and X end it with exit codes 0 and 3; SIGTERM ends it with 0.
 */
#define _GNU_SOURCE
#include <X11/XKBlib.h>
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <X11/keysym.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/input.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <pulse/simple.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
  WIDTH = 1280,
  HEIGHT = 720,
  FRAMES_PER_SECOND = 60,
  SECOND = 1000000000, /* in nanoseconds */
  BAR_WIDTH = 80,
  BAR_STEP = 4,
  COUNTER_BITS = 16,
  EXIT_ON_X = 3,
  HELD_BYTES = 64 << 20,
};

static const unsigned long cycle[] = {0xc00000, 0x00c000, 0x0000c0, 0xc0c000, 0x00c0c0, 0xc000c0};
enum { CYCLE = sizeof cycle / sizeof *cycle };

static Display *display;
static Window window;
static Pixmap picture;
static GC gc;
static int width = WIDTH, height = HEIGHT; /* size of the window; everything is drawn on a grid of 1280x720 */
static volatile sig_atomic_t stopping;
static int noiseSquares; /* per frame, from TESTCARD_NOISE */

static struct {
  unsigned presses; /* stored in $HOME/testcard/presses */
  unsigned clicks, wheel;
  int pointerX, pointerY;
  int keysHeld;
  bool isDown[256];
  bool padSouth;
  int padLeftX;
  bool hasUnshownPress; /* the picture does not show the last press yet */
} state;

static void stop(int signal) {
  (void)signal;
  stopping = 1;
}

static void savePath(char *path, size_t room, const char *name) {
  const char *home = getenv("HOME");
  snprintf(path, room, "%s/testcard%s%s", home && *home ? home : "/tmp", *name ? "/" : "", name);
}

static void loadPresses(void) {
  char path[512];
  savePath(path, sizeof path, "presses");
  FILE *f = fopen(path, "r");
  if (f && fscanf(f, "%u", &state.presses) != 1) state.presses = 0;
  if (f) fclose(f);
}

static void savePresses(void) {
  char folder[512], path[512], draft[512];
  savePath(folder, sizeof folder, "");
  savePath(path, sizeof path, "presses");
  savePath(draft, sizeof draft, "presses.new");
  mkdir(folder, 0755);
  FILE *f = fopen(draft, "w");
  if (!f) {
    fprintf(stderr, "testcard: cannot save to %s: %s\n", draft, strerror(errno));
    return;
  }
  fprintf(f, "%u\n", state.presses);
  if (fclose(f) == 0) rename(draft, path);
}

static void fill(unsigned long color, int x, int y, int w, int h) {
  int left = x * width / WIDTH, top = y * height / HEIGHT;
  XSetForeground(display, gc, color);
  XFillRectangle(display, picture, gc, left, top, (x + w) * width / WIDTH - left,
                 (y + h) * height / HEIGHT - top);
}

/* Draws small squares of random colours all over the picture, which are hard to encode. */
static void drawNoise(void) {
  for (int square = 0; square < noiseSquares; square++) {
    unsigned long random = (unsigned long)rand();
    fill(random * 2654435761u & 0xffffff, (int)(random % WIDTH), (int)(random / WIDTH % HEIGHT), 12, 12);
  }
}

static unsigned long whiteIf(bool on) { return on ? 0xffffff : 0x202020; }

static void draw(long frame) {
  int shift = (int)(frame * BAR_STEP % (2 * BAR_WIDTH));
  fill(0x303030, 0, 0, WIDTH, HEIGHT);
  for (int x = shift - 2 * BAR_WIDTH; x < WIDTH; x += 2 * BAR_WIDTH) fill(0x505050, x, 0, BAR_WIDTH, HEIGHT);
  drawNoise();
  for (int bit = 0; bit < COUNTER_BITS; bit++)
    fill(whiteIf(state.presses >> bit & 1), 20 + bit * 60, 20, 40, 40);
  fill(cycle[state.presses % CYCLE], 440, 210, 400, 300);
  fill(whiteIf(state.clicks % 2), 100, 310, 100, 100);
  fill(cycle[state.wheel % CYCLE], 1080, 310, 100, 100);
  fill(whiteIf(state.keysHeld > 0), 100, 500, 100, 100);
  fill(whiteIf(state.padSouth), 1080, 500, 100, 100);
  fill(0x202020, 440, 600, 400, 40);
  fill(0xffffff, 620 + state.padLeftX * 180 / 32768, 600, 40, 40);
  fill(0xff8000, state.pointerX - 10, state.pointerY - 10, 20, 20);
  XCopyArea(display, picture, window, gc, 0, 0, (unsigned)width, (unsigned)height, 0, 0);
}

static void resize(int newWidth, int newHeight) {
  if (picture && newWidth == width && newHeight == height) return;
  width = newWidth;
  height = newHeight;
  if (picture) XFreePixmap(display, picture);
  picture = XCreatePixmap(display, window, (unsigned)width, (unsigned)height,
                          (unsigned)DefaultDepth(display, DefaultScreen(display)));
}

/* Returns the exit code that the key requests, or -1. */
static int pressKey(XKeyEvent *event) {
  if (state.isDown[event->keycode & 255]) return -1; /* key repeat of the server */
  state.isDown[event->keycode & 255] = true;
  state.keysHeld++;
  switch (XLookupKeysym(event, 0)) {
  case XK_q:
    return 0;
  case XK_x:
    return EXIT_ON_X;
  }
  state.presses++;
  return -1;
}

static void releaseKey(const XKeyEvent *event) {
  if (!state.isDown[event->keycode & 255]) return;
  state.isDown[event->keycode & 255] = false;
  state.keysHeld--;
}

static void pressButton(unsigned button) {
  if (button == Button1) state.clicks++;
  if (button == Button4) state.wheel += CYCLE - 1;
  if (button == Button5) state.wheel++;
}

static int handleEvents(void) {
  while (XPending(display)) {
    XEvent event;
    XNextEvent(display, &event);
    int code = -1;
    if (event.type == KeyPress) code = pressKey(&event.xkey);
    if (event.type == KeyRelease) releaseKey(&event.xkey);
    if (event.type == ButtonPress) pressButton(event.xbutton.button);
    if (event.type == MotionNotify) {
      state.pointerX = event.xmotion.x * WIDTH / width;
      state.pointerY = event.xmotion.y * HEIGHT / height;
    }
    if (event.type == ConfigureNotify) resize(event.xconfigure.width, event.xconfigure.height);
    if (code >= 0) return code;
    if (event.type == KeyPress || event.type == ButtonPress) state.hasUnshownPress = true;
  }
  return -1;
}

/* Waits for input until the next frame is due. Returns whether there was any. */
static bool awaitInput(const struct timespec *next) {
  if (XPending(display)) return true;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  long rest = (next->tv_sec - now.tv_sec) * SECOND + next->tv_nsec - now.tv_nsec;
  struct timespec wait = {.tv_nsec = rest > 0 ? rest : 0};
  struct pollfd source = {.fd = ConnectionNumber(display), .events = POLLIN};
  return rest > 0 && ppoll(&source, 1, &wait, NULL) > 0;
}

/* Shows presses immediately and then saves them. Everything else waits for the next frame. */
static void showPresses(long frame) {
  if (!state.hasUnshownPress) return;
  draw(frame);
  XFlush(display);
  savePresses();
  state.hasUnshownPress = false;
}

/* Opens the first gamepad, which appears when the player uses it. */
static int openGamepad(void) {
  char name[64] = "";
  int pad = open("/dev/input/event0", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (pad >= 0 && ioctl(pad, EVIOCGNAME(sizeof name), name) > 0) printf("testcard: gamepad %s\n", name);
  return pad;
}

/* Returns the gamepad, or -1 if it was unplugged. */
static int readGamepad(int pad) {
  struct input_event event;
  if (pad < 0) return openGamepad();
  while (read(pad, &event, sizeof event) == sizeof event) {
    if (event.type == EV_KEY && event.code == BTN_A) state.padSouth = event.value != 0;
    if (event.type == EV_ABS && event.code == ABS_X) state.padLeftX = event.value;
  }
  if (errno != ENODEV) return pad;
  close(pad);
  return -1;
}

/* Plays a quiet 440 Hz tone, half as loud on the right channel as on the left. Without a sound server
 * there is only the picture. */
static void *playTone(void *unused) {
  (void)unused;
  const pa_sample_spec format = {.format = PA_SAMPLE_S16LE, .rate = 48000, .channels = 2};
  pa_simple *sound =
      pa_simple_new(NULL, "testcard", PA_STREAM_PLAYBACK, NULL, "tone", &format, NULL, NULL, NULL);
  static short samples[4800 * 2]; /* 0.1 s: 44 whole waves */
  for (int i = 0; i < 4800; i++) {
    double wave = sin(2 * M_PI * 440 * i / 48000);
    samples[2 * i] = (short)(6000 * wave);
    samples[2 * i + 1] = (short)(3000 * wave);
  }
  while (sound && pa_simple_write(sound, samples, sizeof samples, NULL) == 0) {
  }
  return NULL;
}

static void openWindow(void) {
  int screen = DefaultScreen(display);
  window = XCreateSimpleWindow(display, RootWindow(display, screen), 0, 0, WIDTH, HEIGHT, 0, 0, 0);
  XStoreName(display, window, "Test card");
  XSelectInput(display, window,
               KeyPressMask | KeyReleaseMask | ButtonPressMask | PointerMotionMask | StructureNotifyMask);
  XkbSetDetectableAutoRepeat(display, True, NULL);
  XMapWindow(display, window);
  gc = XCreateGC(display, window, 0, NULL);
  XSetGraphicsExposures(display, gc, False);
  resize(WIDTH, HEIGHT);
}

/* Uses as much memory as a small game, so that a test can distinguish a measured peak from an empty
 * container's. */
static void holdMemory(void) {
  char *memory = malloc(HELD_BYTES);
  if (memory)
    for (size_t at = 0; at < HELD_BYTES; at += 4096) ((volatile char *)memory)[at] = (char)at;
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  struct sigaction action = {.sa_handler = stop};
  sigaction(SIGTERM, &action, NULL);
  display = XOpenDisplay(NULL);
  if (!display) {
    fprintf(stderr, "testcard: no display\n");
    return 1;
  }
  const char *noise = getenv("TESTCARD_NOISE");
  noiseSquares = noise ? atoi(noise) : 0;
  holdMemory();
  loadPresses();
  openWindow();
  int pad = openGamepad();
  pthread_t tone;
  pthread_create(&tone, NULL, playTone, NULL);

  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (long frame = 0; !stopping; frame++) {
    pad = readGamepad(pad);
    draw(frame);
    XFlush(display);
    next.tv_nsec += SECOND / FRAMES_PER_SECOND;
    if (next.tv_nsec >= SECOND) {
      next.tv_nsec -= SECOND;
      next.tv_sec++;
    }
    while (awaitInput(&next)) {
      int code = handleEvents();
      if (code >= 0) return code;
      showPresses(frame);
    }
  }
  return 0;
}
