#include "displayprobe.h"

#include <GL/gl.h>
#include <GL/glx.h>
#include <stdio.h>

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

/* Probes OpenGL with GLX, as games use it: the renderer, whether its output can be captured, and the time
 * per frame. */
void probeGl(Display *display, int timedFrames) {
  int wanted[] = {GLX_RGBA, GLX_DOUBLEBUFFER, GLX_RED_SIZE, 8, GLX_GREEN_SIZE, 8, GLX_BLUE_SIZE, 8, None};
  XVisualInfo *visual = glXChooseVisual(display, DefaultScreen(display), wanted);
  if (!visual) fail("the display has no visual for OpenGL");
  GLXContext context = glXCreateContext(display, visual, NULL, True);
  if (!context) fail("there is no context of OpenGL");
  int width, height;
  struct drawing drawing = {display, openWindow(display, visual, &width, &height)};
  if (!glXMakeCurrent(display, drawing.window, context)) fail("the context of OpenGL cannot be used");
  glViewport(0, 0, width, height);
  printFinding("renderer", (const char *)glGetString(GL_RENDERER));
  printFinding("glVersion", (const char *)glGetString(GL_VERSION));
  expectCaptured(display, "glCapture", color, draw, &drawing);
  timeFrames("glFrameMs", timedFrames, draw, &drawing);
  glXMakeCurrent(display, None, NULL);
  glXDestroyContext(display, context);
  XDestroyWindow(display, drawing.window);
}
