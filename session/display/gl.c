#include "displayprobe.h"

#include <GL/gl.h>
#include <GL/glx.h>
#include <stdio.h>
#include <time.h>

static const unsigned long color = 0xc04020;

struct drawing {
  Display *display;
  Window window;
};

static void draw(void *argument) {
  struct drawing *drawing = argument;
  glClearColor(0xc0 / 255.0f, 0x40 / 255.0f, 0x20 / 255.0f, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  glXSwapBuffers(drawing->display, drawing->window);
  glFinish();
}

/* Opens a window that covers the display, with a current context. */
static GLXContext openContext(Display *display, Window *window, int *width, int *height) {
  int wanted[] = {GLX_RGBA, GLX_DOUBLEBUFFER, GLX_RED_SIZE, 8, GLX_GREEN_SIZE, 8, GLX_BLUE_SIZE, 8, None};
  XVisualInfo *visual = glXChooseVisual(display, DefaultScreen(display), wanted);
  if (!visual) fail("the display has no visual for OpenGL");
  GLXContext context = glXCreateContext(display, visual, NULL, True);
  if (!context) fail("there is no context of OpenGL");
  *window = openWindow(display, visual, width, height);
  if (!glXMakeCurrent(display, *window, context)) fail("the context of OpenGL cannot be used");
  glViewport(0, 0, *width, *height);
  return context;
}

/* Probes OpenGL with GLX, as games use it: the renderer, whether its output can be captured, and the time
 * per frame. */
void probeGl(Display *display, int timedFrames) {
  struct drawing drawing = {.display = display};
  int width, height;
  GLXContext context = openContext(display, &drawing.window, &width, &height);
  printFinding("renderer", (const char *)glGetString(GL_RENDERER));
  printFinding("glVersion", (const char *)glGetString(GL_VERSION));
  expectCaptured(display, "glCapture", color, draw, &drawing);
  timeFrames("glFrameMs", timedFrames, draw, &drawing);
  glXMakeCurrent(display, None, NULL);
  glXDestroyContext(display, context);
  XDestroyWindow(display, drawing.window);
}

/* Draws stripes that move, each in its own colour. */
static void drawStripes(int width, int height, int frame) {
  enum { STRIPES = 48, SPEED = 4 };
  int step = height / STRIPES + 1;
  glDisable(GL_SCISSOR_TEST);
  glClearColor(0.1f, 0.1f, 0.1f, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  glEnable(GL_SCISSOR_TEST);
  for (int stripe = 0; stripe < STRIPES; stripe++) {
    int left = (stripe * 97 + frame * (SPEED + stripe % 5)) % width;
    glScissor(left, stripe * step, width / 4, step);
    glClearColor((float)(stripe % 7) / 7, (float)(stripe % 5) / 5, (float)(stripe % 3) / 3, 1);
    glClear(GL_COLOR_BUFFER_BIT);
  }
}

/* Plays a game's part for measurements of the capture: prints the renderer, then the frames of each second.
 */
void playGl(Display *display, int seconds) {
  enum { RATE = 60, NS_PER_S = 1000000000 };
  Window window;
  int width, height, frames = 0, second = 0;
  openContext(display, &window, &width, &height);
  printFinding("renderer", (const char *)glGetString(GL_RENDERER));
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (double start = nowMs(); second < seconds; frames++) {
    drawStripes(width, height, frames);
    glXSwapBuffers(display, window);
    next.tv_nsec += NS_PER_S / RATE;
    if (next.tv_nsec >= NS_PER_S) next = (struct timespec){next.tv_sec + 1, next.tv_nsec - NS_PER_S};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    if (nowMs() < start + (second + 1) * 1e3) continue;
    char text[32];
    snprintf(text, sizeof text, "%d", frames);
    printFinding("frames", text);
    frames = 0;
    second++;
  }
}
