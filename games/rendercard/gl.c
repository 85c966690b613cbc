#include "rendercard.h"

#include <GL/gl.h>
#include <GL/glx.h>
#include <stdio.h>

static Display *shown;
static Window window;

static Window openGl(Display *display) {
  int wanted[] = {GLX_RGBA, GLX_DOUBLEBUFFER, GLX_RED_SIZE, 8, GLX_GREEN_SIZE, 8, GLX_BLUE_SIZE, 8, None};
  XVisualInfo *visual = glXChooseVisual(display, DefaultScreen(display), wanted);
  GLXContext context = visual ? glXCreateContext(display, visual, NULL, True) : NULL;
  if (!context) fail("there is no context of OpenGL");
  shown = display;
  window = openWindow(display, visual);
  if (!glXMakeCurrent(display, window, context)) fail("the context of OpenGL cannot be used");
  printf("rendercard: OpenGL by %s\n", (const char *)glGetString(GL_RENDERER));
  fflush(stdout);
  return window;
}

static void drawGl(struct color color) {
  glClearColor(color.red, color.green, color.blue, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  glXSwapBuffers(shown, window);
}

const struct renderer gl = {openGl, drawGl};
