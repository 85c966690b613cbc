#ifndef DISPLAYPROBE_H
#define DISPLAYPROBE_H

#include <X11/Xlib.h>
#include <X11/Xutil.h>

/* Exits with a reason. */
void fail(const char *what) __attribute__((noreturn));
/* Prints one finding. */
void printFinding(const char *name, const char *value);
/* Prints the average time per frame in milliseconds; nothing without frames. */
void timeFrames(const char *name, int frames, void (*draw)(void *), void *drawing);
/* Returns the monotonic time in milliseconds. */
double nowMs(void);
/* Opens a window that covers the display, without a window manager. */
Window openWindow(Display *display, XVisualInfo *visual, int *width, int *height);
/* Draws until the captured display shows the colour. Exits if it does not within a second. */
void expectCaptured(Display *display, const char *name, unsigned long color, void (*draw)(void *),
                    void *drawing);

void probeGl(Display *display, int timedFrames);
void playGl(Display *display, int seconds);
void probeEgl(Display *display, int timedFrames);
void probeVulkan(Display *display, int timedFrames);
void printEglDevices(void);
void printGbm(const char *node);
void printVulkanDevices(void);

#endif
