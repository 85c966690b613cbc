/* Vendor "joypod" of libglvnd's EGL: Mesa, with swaps that wait for the display's refresh. */
#define _GNU_SOURCE
#include "pacing.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <glvnd/libeglabi.h>
#include <string.h>

static const char *const mesa = "libEGL_mesa.so.0";
static void *library;
static const __EGLapiExports *glvnd;
static void *(*mesaProcAddress)(const char *name);

#define MESA(function) ((__typeof__(function) *)mesaProcAddress(#function))

static EGLBoolean paced(EGLBoolean isSwapped, EGLSurface surface) {
  if (isSwapped) waitForRefresh((uint64_t)(uintptr_t)surface);
  return isSwapped;
}

static EGLBoolean swapBuffers(EGLDisplay display, EGLSurface surface) {
  return paced(MESA(eglSwapBuffers)(display, surface), surface);
}

static EGLBoolean swapWithDamageExt(EGLDisplay display, EGLSurface surface, const EGLint *rects,
                                    EGLint count) {
  PFNEGLSWAPBUFFERSWITHDAMAGEEXTPROC swap =
      (PFNEGLSWAPBUFFERSWITHDAMAGEEXTPROC)mesaProcAddress("eglSwapBuffersWithDamageEXT");
  return paced(swap(display, surface, rects, count), surface);
}

static EGLBoolean swapWithDamageKhr(EGLDisplay display, EGLSurface surface, const EGLint *rects,
                                    EGLint count) {
  PFNEGLSWAPBUFFERSWITHDAMAGEKHRPROC swap =
      (PFNEGLSWAPBUFFERSWITHDAMAGEKHRPROC)mesaProcAddress("eglSwapBuffersWithDamageKHR");
  return paced(swap(display, surface, rects, count), surface);
}

static EGLBoolean setInterval(EGLDisplay display, EGLint interval) {
  EGLBoolean isSet = MESA(eglSwapInterval)(display, interval);
  EGLSurface surface = glvnd->getCurrentSurface(EGL_DRAW);
  if (isSet && surface != EGL_NO_SURFACE) setSwapInterval((uint64_t)(uintptr_t)surface, interval);
  return isSet;
}

static const struct {
  const char *name;
  void *function;
} replaced[] = {{"eglSwapBuffers", (void *)swapBuffers},
                {"eglSwapBuffersWithDamageEXT", (void *)swapWithDamageExt},
                {"eglSwapBuffersWithDamageKHR", (void *)swapWithDamageKhr},
                {"eglSwapInterval", (void *)setInterval}};

static void *procAddress(const char *name) {
  void *found = mesaProcAddress(name);
  for (size_t i = 0; found && i < sizeof replaced / sizeof *replaced; i++)
    if (strcmp(name, replaced[i].name) == 0) return replaced[i].function;
  return found;
}

/* Called by libEGL, which has loaded this library by the file in __EGL_VENDOR_LIBRARY_FILENAMES. */
__attribute__((visibility("default"))) EGLBoolean __egl_Main(uint32_t version, const __EGLapiExports *exports,
                                                             __EGLvendorInfo *vendor,
                                                             __EGLapiImports *imports) {
  __PFNEGLMAINPROC start = (__PFNEGLMAINPROC)symbolOf(&library, mesa, __EGL_MAIN_PROTO_NAME);
  if (!start || !start(version, exports, vendor, imports)) return EGL_FALSE;
  glvnd = exports;
  mesaProcAddress = imports->getProcAddress;
  imports->getProcAddress = procAddress;
  return EGL_TRUE;
}
