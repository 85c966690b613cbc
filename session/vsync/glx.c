/* Vendor "joypod" of libglvnd's GLX: Mesa, with swaps that wait for the display's refresh. */
#define _GNU_SOURCE
#include "pacing.h"

#include <GL/glx.h>
#include <GL/glxext.h>
#include <glvnd/libglxabi.h>
#include <stdio.h>
#include <string.h>

enum { MAX_EXTENSIONS = 4096 };

static const char *const mesa = "libGLX_mesa.so.0";
static void *library;
static void *(*mesaProcAddress)(const GLubyte *name);

static void *mesaFunction(const char *name) { return mesaProcAddress((const GLubyte *)name); }
#define MESA(function) ((__typeof__(function) *)mesaFunction(#function))

static void swapBuffers(Display *display, GLXDrawable drawable) {
  MESA(glXSwapBuffers)(display, drawable);
  waitForRefresh(drawable);
}

static void setExt(Display *display, GLXDrawable drawable, int interval) {
  (void)display;
  setSwapInterval(drawable, interval);
}

static int setMesa(unsigned interval) {
  GLXDrawable drawable = MESA(glXGetCurrentDrawable)();
  if (!drawable) return GLX_BAD_CONTEXT;
  setSwapInterval(drawable, (int)interval);
  return 0;
}

static int setSgi(int interval) { return interval < 1 ? GLX_BAD_VALUE : setMesa((unsigned)interval); }

static int getMesa(void) { return swapIntervalOf(MESA(glXGetCurrentDrawable)()); }

static void queryDrawable(Display *display, GLXDrawable drawable, int attribute, unsigned *value) {
  if (attribute == GLX_SWAP_INTERVAL_EXT)
    *value = (unsigned)swapIntervalOf(drawable);
  else if (attribute == GLX_MAX_SWAP_INTERVAL_EXT)
    *value = 4;
  else
    MESA(glXQueryDrawable)(display, drawable, attribute, value);
}

/* Returns Mesa's extensions with those that this library adds. */
static const char *extensions(Display *display, int screen) {
  static char all[MAX_EXTENSIONS];
  const char *found = MESA(glXQueryExtensionsString)(display, screen);
  if (!found || strstr(found, "GLX_EXT_swap_control ")) return found;
  snprintf(all, sizeof all, "%s%sGLX_EXT_swap_control GLX_MESA_swap_control GLX_SGI_swap_control ", found,
           *found && found[strlen(found) - 1] != ' ' ? " " : "");
  return all;
}

static const struct {
  const char *name;
  void *function;
} replaced[] = {{"glXSwapBuffers", (void *)swapBuffers},         {"glXSwapIntervalEXT", (void *)setExt},
                {"glXSwapIntervalMESA", (void *)setMesa},        {"glXSwapIntervalSGI", (void *)setSgi},
                {"glXGetSwapIntervalMESA", (void *)getMesa},     {"glXQueryDrawable", (void *)queryDrawable},
                {"glXQueryExtensionsString", (void *)extensions}};

static void *procAddress(const GLubyte *name) {
  for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
    if (strcmp((const char *)name, replaced[i].name) == 0) return replaced[i].function;
  return mesaProcAddress(name);
}

/* Called by libGLX, which has loaded this library by the name in __GLX_VENDOR_LIBRARY_NAME. */
__attribute__((visibility("default"))) Bool __glx_Main(uint32_t version, const __GLXapiExports *exports,
                                                       __GLXvendorInfo *vendor, __GLXapiImports *imports) {
  __PFNGLXMAINPROC start = (__PFNGLXMAINPROC)symbolOf(&library, mesa, __GLX_MAIN_PROTO_NAME);
  if (!start || !start(version, exports, vendor, imports)) return False;
  mesaProcAddress = imports->getProcAddress;
  imports->getProcAddress = procAddress;
  return True;
}
