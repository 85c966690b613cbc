#include "displayprobe.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <fcntl.h>
#include <gbm.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_EGL_DEVICES = 16, MAX_TEXT = 160 };

static const unsigned long color = 0x40a060;

struct drawing {
  EGLDisplay display;
  EGLSurface surface;
};

static void draw(void *argument) {
  struct drawing *drawing = argument;
  glClearColor(0x40 / 255.0f, 0xa0 / 255.0f, 0x60 / 255.0f, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  eglSwapBuffers(drawing->display, drawing->surface);
  glFinish();
}

static EGLContext createContext(EGLDisplay display, EGLConfig config) {
  static const EGLint version[] = {EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE};
  return eglCreateContext(display, config, EGL_NO_CONTEXT, version);
}

/* Probes OpenGL ES with EGL, as some games use it: the same as probeGl. */
void probeEgl(Display *x, int timedFrames) {
  EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_X11_KHR, x, NULL);
  if (display == EGL_NO_DISPLAY || !eglInitialize(display, NULL, NULL))
    fail("there is no EGL on the display");
  EGLint wanted[] = {EGL_SURFACE_TYPE,
                     EGL_WINDOW_BIT,
                     EGL_RENDERABLE_TYPE,
                     EGL_OPENGL_ES2_BIT,
                     EGL_RED_SIZE,
                     8,
                     EGL_GREEN_SIZE,
                     8,
                     EGL_BLUE_SIZE,
                     8,
                     EGL_NONE};
  EGLConfig config;
  EGLint count = 0, id = 0;
  if (!eglChooseConfig(display, wanted, &config, 1, &count) || count < 1)
    fail("EGL has no configuration for windows");
  eglGetConfigAttrib(display, config, EGL_NATIVE_VISUAL_ID, &id);
  XVisualInfo sought = {.visualid = (VisualID)id};
  int visuals, width, height;
  XVisualInfo *visual = XGetVisualInfo(x, VisualIDMask, &sought, &visuals);
  if (!visual) fail("the display has no visual for EGL");
  Window window = openWindow(x, visual, &width, &height);
  struct drawing drawing = {display, eglCreatePlatformWindowSurface(display, config, &window, NULL)};
  EGLContext context = createContext(display, config);
  if (!eglMakeCurrent(display, drawing.surface, drawing.surface, context))
    fail("the context of EGL cannot be used");
  glViewport(0, 0, width, height);
  printFinding("eglRenderer", (const char *)glGetString(GL_RENDERER));
  expectCaptured(x, "eglCapture", color, draw, &drawing);
  timeFrames("eglFrameMs", timedFrames, draw, &drawing);
  eglTerminate(display);
}

/* Prints what renders on the EGL display without a surface, or why nothing does. */
static void printRenderer(const char *name, EGLDisplay display) {
  static const EGLint wanted[] = {EGL_SURFACE_TYPE, 0, EGL_RENDERABLE_TYPE, EGL_OPENGL_ES2_BIT, EGL_NONE};
  EGLConfig config = EGL_NO_CONFIG_KHR;
  EGLint count = 0;
  if (display == EGL_NO_DISPLAY || !eglInitialize(display, NULL, NULL)) {
    printFinding(name, "does not start");
    return;
  }
  eglChooseConfig(display, wanted, &config, 1, &count);
  EGLContext context = createContext(display, config);
  if (eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context))
    printFinding(name, (const char *)glGetString(GL_RENDERER));
  else
    printFinding(name, "has no context");
  eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  eglTerminate(display);
}

/* Prints what EGL renders with on each of its devices, without a display. */
void printEglDevices(void) {
  PFNEGLQUERYDEVICESEXTPROC queryDevices = (PFNEGLQUERYDEVICESEXTPROC)eglGetProcAddress("eglQueryDevicesEXT");
  EGLDeviceEXT devices[MAX_EGL_DEVICES];
  EGLint count = 0;
  if (!queryDevices || !queryDevices(MAX_EGL_DEVICES, devices, &count)) count = 0;
  for (EGLint i = 0; i < count; i++) {
    char name[32];
    snprintf(name, sizeof name, "eglDevice%d", i + 1);
    printRenderer(name, eglGetPlatformDisplay(EGL_PLATFORM_DEVICE_EXT, devices[i], NULL));
  }
}

/* Prints GBM's back end for a render node, and what EGL renders with on it, as compositors do. */
void printGbm(const char *node) {
  int file = open(node, O_RDWR | O_CLOEXEC);
  if (file < 0) fail("the render node cannot be opened");
  struct gbm_device *device = gbm_create_device(file);
  if (!device) fail("GBM has no driver for the render node");
  printFinding("gbmBackend", gbm_device_get_backend_name(device));
  printRenderer("gbmRenderer", eglGetPlatformDisplay(EGL_PLATFORM_GBM_KHR, device, NULL));
  gbm_device_destroy(device);
  close(file);
}
