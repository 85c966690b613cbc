#ifndef RENDERCARD_H
#define RENDERCARD_H

#include <X11/Xlib.h>
#include <X11/Xutil.h>

struct color {
  float red, green, blue;
};

/* A renderer. `open` returns the window; `draw` fills and presents it. */
struct renderer {
  Window (*open)(Display *display);
  void (*draw)(struct color color);
};

extern const struct renderer gl, vulkan;

/* Exits with a reason. */
void fail(const char *what) __attribute__((noreturn));
Window openWindow(Display *display, const XVisualInfo *visual);

#endif
