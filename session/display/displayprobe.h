#ifndef DISPLAYPROBE_H
#define DISPLAYPROBE_H

#include <X11/Xlib.h>
#include <X11/Xutil.h>

/* Ends the program with a reason. */
void fail(const char *what) __attribute__((noreturn));
/* Prints a line of what was found. */
void tell(const char *name, const char *value);
/* Tells how long a frame takes on average, in milliseconds; nothing without frames. */
void timeFrames(const char *name, int frames, void (*draw)(void *), void *drawing);
/* A window that covers the display, without a window manager. */
Window openWindow(Display *display, XVisualInfo *visual, int *width, int *height);
/* Draws until the display's capture shows the colour; ends the program when it does not within a second. */
void expectCaptured(Display *display, const char *name, unsigned long color, void (*draw)(void *),
                    void *drawing);

void probeGl(Display *display, int timedFrames);
void probeVulkan(Display *display, int timedFrames);

#endif
