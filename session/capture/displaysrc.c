/*
 * joypoddisplaysrc: captures an X display as a live GStreamer source.
 *
 * A picture is captured when something was drawn or the pointer moved, not at fixed intervals. That saves
 * half a frame of latency on average and avoids two clocks drifting against each other. Downstream runs in
 * this element's thread, so a picture is captured no earlier than the encoder is free. A still display is
 * repeated at intervals, so that the encoder refines it and late viewers see it.
 *
 * A game may resize the display. The next picture then has the new size. The root window's property
 * _JOYPOD_VIEW (x, y, width, height) selects a part of the display, such as a game's small window; zeros or
 * no property select all of it.
 *
 * Output is BGRx, the display's format, or I420 for software encoders. libyuv converts to I420 in a third of
 * the time that videoconvert needs.
 */
#define _GNU_SOURCE
#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <X11/extensions/XShm.h>
#include <X11/extensions/Xdamage.h>
#include <X11/extensions/Xfixes.h>
#include <gst/base/gstpushsrc.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <libyuv/convert.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>

enum { SEGMENTS = 4, BYTES_PER_PIXEL = 4, MAX_RATE = 240, CAPTURE_TRIES = 3 };
enum { PROPERTY_DISPLAY = 1, PROPERTY_RATE };

/* A game that redraws because of input must not wait for its slot, so this many pictures may come early. */
static const gint64 earlyPictures = 2;
/* The rate limit is 10 % above the rate, so that the average catches up after early pictures. */
static const double rateAllowance = 1.1;
/* An unchanged picture is repeated after this many intervals, later than the next one of a game at the
 * full rate. */
static const double repeatIntervals = 1.5;
/* A display that is unchanged for this long is repeated at this interval, because the encoder has refined
 * it by then. */
static const gint64 stillAfterUs = 1000000, stillRepeatUs = 50000;

typedef struct {
  XShmSegmentInfo info;
  XImage *image;
  guint8 *planes; /* the picture as I420; NULL until needed */
  gint isBusy;    /* being read by downstream; atomic */
} Segment;

typedef struct {
  int x, y, width, height;
} Area;

typedef struct {
  GstPushSrc parent;
  char *displayName;
  gint rate;                    /* maximum pictures per second; atomic */
  gint isImmediate, isFlushing; /* atomic */
  int wake;                     /* eventfd: another thread changed one of these */
  GstVideoInfo video;

  Display *display;
  Window root;
  int width, height; /* last known size of the display */
  Atom viewProperty;
  Area view; /* the captured part, which always lies on the display */
  int damageEvent, fixesEvent;
  Damage damage;
  Segment segments[SEGMENTS];
  XFixesCursorImage *cursor;
  int pointerX, pointerY;

  gboolean isChanged;
  gint64 takenAt, changedAt, pointerCheckAt, nextSlotAt; /* monotonic, in microseconds */
} DisplaySrc;

typedef struct {
  GstPushSrcClass parent;
} DisplaySrcClass;

GType displaySrc_get_type(void);
G_DEFINE_TYPE(DisplaySrc, displaySrc, GST_TYPE_PUSH_SRC)

static GstStaticPadTemplate template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS,
    GST_STATIC_CAPS("video/x-raw, format=BGRx, width=[1,32767], height=[1,32767], framerate=[1/1,240/1];"
                    /* libyuv's conversion matrix. */
                    "video/x-raw, format=I420, colorimetry=bt601, width=[1,32767], height=[1,32767], "
                    "framerate=[1/1,240/1]"));

static void wakeUp(DisplaySrc *self) {
  guint64 one = 1;
  if (write(self->wake, &one, sizeof one) < 0)
    GST_WARNING_OBJECT(self, "the waiting thread could not be woken");
}

static gboolean addSegment(DisplaySrc *self, Segment *segment) {
  int screen = DefaultScreen(self->display);
  segment->image = XShmCreateImage(self->display, DefaultVisual(self->display, screen),
                                   (unsigned)DefaultDepth(self->display, screen), ZPixmap, NULL,
                                   &segment->info, (unsigned)self->view.width, (unsigned)self->view.height);
  if (!segment->image || segment->image->bits_per_pixel != 8 * BYTES_PER_PIXEL ||
      segment->image->byte_order != LSBFirst)
    return FALSE;
  size_t bytes = (size_t)segment->image->bytes_per_line * (size_t)self->view.height;
  segment->info.shmid = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
  if (segment->info.shmid < 0) return FALSE;
  void *memory = shmat(segment->info.shmid, NULL, 0);
  gboolean isAttached = memory != (void *)-1;
  if (isAttached) {
    segment->info.shmaddr = segment->image->data = memory;
    segment->info.readOnly = False;
    isAttached = XShmAttach(self->display, &segment->info);
    XSync(self->display, False);
  }
  shmctl(segment->info.shmid, IPC_RMID, NULL); /* freed when the last process detaches */
  return isAttached;
}

/* Frees a segment that nobody reads. */
static void removeSegment(DisplaySrc *self, Segment *segment) {
  if (segment->image) XDestroyImage(segment->image);
  segment->image = NULL;
  if (segment->info.shmaddr) {
    XShmDetach(self->display, &segment->info);
    shmdt(segment->info.shmaddr);
  }
  segment->info.shmaddr = NULL;
  g_free(segment->planes);
  segment->planes = NULL;
}

/* Replaces Xlib's handler, which ends the process. The caller checks whether its request failed. */
static int recordError(Display *display, XErrorEvent *error) {
  char text[128];
  XGetErrorText(display, error->error_code, text, sizeof text);
  GST_INFO("the display does not take request %d: %s", error->request_code, text);
  return 0;
}

/* Reads the view. A property that does not lie on the display, which any client can set, selects all of it.
 */
static void readView(DisplaySrc *self) {
  Atom type;
  int format = 0;
  unsigned long count = 0, rest;
  unsigned char *data = NULL;
  self->view = (Area){.width = self->width, .height = self->height};
  if (XGetWindowProperty(self->display, self->root, self->viewProperty, 0, 4, False, XA_CARDINAL, &type,
                         &format, &count, &rest, &data) == Success &&
      format == 32 && count == 4) {
    const unsigned long *values = (const unsigned long *)data;
    unsigned long width = (unsigned long)self->width, height = (unsigned long)self->height;
    if (values[0] < width && values[1] < height && values[2] > 0 && values[3] > 0 &&
        values[2] <= width - values[0] && values[3] <= height - values[1])
      self->view = (Area){(int)values[0], (int)values[1], (int)values[2], (int)values[3]};
  }
  if (data) XFree(data);
}

/* Requests size events before reading the size, so that no change is missed. */
static gboolean watchSize(DisplaySrc *self) {
  XWindowAttributes attributes;
  XSelectInput(self->display, self->root, StructureNotifyMask | PropertyChangeMask);
  if (!XGetWindowAttributes(self->display, self->root, &attributes)) return FALSE;
  self->width = attributes.width;
  self->height = attributes.height;
  self->viewProperty = XInternAtom(self->display, "_JOYPOD_VIEW", False);
  readView(self);
  return TRUE;
}

static gboolean openDisplay(DisplaySrc *self) {
  int error, major = 5, minor = 0;
  XSetErrorHandler(recordError);
  self->display = XOpenDisplay(self->displayName);
  if (!self->display) return FALSE;
  self->root = DefaultRootWindow(self->display);
  if (!watchSize(self)) return FALSE;
  if (!XShmQueryExtension(self->display) ||
      !XDamageQueryExtension(self->display, &self->damageEvent, &error) ||
      !XFixesQueryExtension(self->display, &self->fixesEvent, &error))
    return FALSE;
  XFixesQueryVersion(self->display, &major, &minor);
  self->damage = XDamageCreate(self->display, self->root, XDamageReportNonEmpty);
  XFixesSelectCursorInput(self->display, self->root, XFixesDisplayCursorNotifyMask);
  self->cursor = XFixesGetCursorImage(self->display);
  for (int i = 0; i < SEGMENTS; i++)
    if (!addSegment(self, &self->segments[i])) return FALSE;
  return TRUE;
}

static gboolean start(GstBaseSrc *base) {
  DisplaySrc *self = (DisplaySrc *)base;
  if (openDisplay(self)) return TRUE;
  GST_ELEMENT_ERROR(self, RESOURCE, OPEN_READ, ("The display %s cannot be captured.", self->displayName),
                    (NULL));
  return FALSE;
}

static gboolean stop(GstBaseSrc *base) {
  DisplaySrc *self = (DisplaySrc *)base;
  for (int i = 0; i < SEGMENTS; i++) {
    Segment *segment = &self->segments[i];
    if (g_atomic_int_get(&segment->isBusy)) { /* its reader keeps the memory */
      segment->info.shmaddr = NULL;
      segment->planes = NULL;
    }
    removeSegment(self, segment);
  }
  if (self->cursor) XFree(self->cursor);
  self->cursor = NULL;
  if (self->display) XCloseDisplay(self->display);
  self->display = NULL;
  return TRUE;
}

static void readEvents(DisplaySrc *self) {
  gboolean hasNewCursor = FALSE, hasNewView = FALSE;
  while (XPending(self->display)) {
    XEvent event;
    XNextEvent(self->display, &event);
    if (event.type == self->damageEvent + XDamageNotify) self->isChanged = TRUE;
    if (event.type == self->fixesEvent + XFixesCursorNotify) hasNewCursor = TRUE;
    if (event.type == ConfigureNotify && event.xconfigure.window == self->root &&
        !event.xconfigure.send_event) {
      self->width = event.xconfigure.width;
      self->height = event.xconfigure.height;
      hasNewView = TRUE;
    }
    if (event.type == PropertyNotify && event.xproperty.atom == self->viewProperty) hasNewView = TRUE;
  }
  if (hasNewView) {
    readView(self);
    self->isChanged = TRUE;
  }
  if (!hasNewCursor) return;
  if (self->cursor) XFree(self->cursor);
  self->cursor = XFixesGetCursorImage(self->display);
  self->isChanged = TRUE;
}

/* Returns whether the pointer has moved. The server sends no event when it draws the pointer. */
static gboolean updatePointer(DisplaySrc *self) {
  Window root, child;
  int x = 0, y = 0, windowX, windowY;
  unsigned buttons;
  XQueryPointer(self->display, self->root, &root, &child, &x, &y, &windowX, &windowY, &buttons);
  gboolean hasMoved = x != self->pointerX || y != self->pointerY;
  self->pointerX = x;
  self->pointerY = y;
  return hasMoved;
}

static guint8 over(guint8 below, gulong pixel, int shift) {
  guint alpha = pixel >> 24 & 255, color = pixel >> shift & 255; /* premultiplied */
  return (guint8)MIN(255, color + below * (255 - alpha) / 255);
}

static void drawPointer(DisplaySrc *self, XImage *image) {
  const XFixesCursorImage *cursor = self->cursor;
  if (!cursor) return;
  int left = self->pointerX - self->view.x - cursor->xhot, top = self->pointerY - self->view.y - cursor->yhot;
  for (int y = MAX(0, -top); y < cursor->height && top + y < image->height; y++) {
    for (int x = MAX(0, -left); x < cursor->width && left + x < image->width; x++) {
      gulong pixel = cursor->pixels[y * cursor->width + x];
      guint8 *below =
          (guint8 *)image->data + (top + y) * image->bytes_per_line + (left + x) * BYTES_PER_PIXEL;
      for (int part = 0; part < 3; part++) below[part] = over(below[part], pixel, 8 * part);
    }
  }
}

static void sleepUntil(DisplaySrc *self, gint64 at) {
  if (XPending(self->display)) return; /* it arrived with a reply, so the socket no longer signals it */
  struct pollfd sources[] = {{.fd = self->wake, .events = POLLIN},
                             {.fd = ConnectionNumber(self->display), .events = POLLIN}};
  gint64 restUs = MAX(0, at - g_get_monotonic_time());
  struct timespec rest = {.tv_sec = restUs / G_USEC_PER_SEC, .tv_nsec = restUs % G_USEC_PER_SEC * 1000};
  ppoll(sources, 2, &rest, NULL);
  guint64 count;
  if (sources[0].revents & POLLIN && read(self->wake, &count, sizeof count) < 0)
    GST_LOG_OBJECT(self, "woken by two threads");
}

/* Returns TRUE when a picture must be captured, FALSE when the element stops. */
static gboolean waitForPicture(DisplaySrc *self) {
  while (!g_atomic_int_get(&self->isFlushing)) {
    gint64 intervalUs = G_USEC_PER_SEC / g_atomic_int_get(&self->rate);
    if (g_atomic_int_compare_and_exchange(&self->isImmediate, TRUE, FALSE)) {
      self->nextSlotAt = self->pointerCheckAt = 0;
      return TRUE;
    }
    readEvents(self);
    gint64 now = g_get_monotonic_time();
    if (!self->isChanged && now >= self->pointerCheckAt) {
      self->isChanged = updatePointer(self);
      self->pointerCheckAt = now + intervalUs;
    }
    if (self->isChanged) self->changedAt = now;
    gint64 repeatUs =
        now - self->changedAt > stillAfterUs ? stillRepeatUs : (gint64)(repeatIntervals * (double)intervalUs);
    gint64 wantedAt = self->isChanged ? now : self->takenAt + MAX(repeatUs, intervalUs);
    gint64 dueAt = MAX(wantedAt, self->nextSlotAt - earlyPictures * intervalUs);
    if (now >= dueAt) return TRUE;
    sleepUntil(self, self->isChanged ? dueAt : MIN(dueAt, self->pointerCheckAt));
  }
  return FALSE;
}

static void release(gpointer segment) { g_atomic_int_set(&((Segment *)segment)->isBusy, FALSE); }

/* Returns an unused segment of the view's size; NULL when there is none. */
static Segment *findUnusedSegment(DisplaySrc *self) {
  for (int i = 0; i < SEGMENTS; i++) {
    Segment *segment = &self->segments[i];
    if (g_atomic_int_get(&segment->isBusy)) continue;
    if (segment->image && segment->image->width == self->view.width &&
        segment->image->height == self->view.height)
      return segment;
    removeSegment(self, segment);
    return addSegment(self, segment) ? segment : NULL;
  }
  return NULL;
}

/* Returns the display's picture; NULL when it cannot be captured. */
static Segment *capture(DisplaySrc *self) {
  for (int try = 0; try < CAPTURE_TRIES; try++) {
    Segment *segment = findUnusedSegment(self);
    if (!segment) return NULL;
    self->isChanged = FALSE;
    XDamageSubtract(self->display, self->damage, None,
                    None); /* before the capture: anything drawn later is a new change */
    updatePointer(self);
    if (XShmGetImage(self->display, self->root, segment->image, self->view.x, self->view.y, AllPlanes))
      return segment;
    readEvents(self); /* a display that has just shrunk has sent that event before the error */
  }
  return NULL;
}

/* Wraps a segment in a buffer. Downstream uses the segment until it releases the buffer. */
static GstBuffer *wrapSegment(DisplaySrc *self, Segment *segment) {
  const GstVideoInfo *video = &self->video;
  gsize bytes = GST_VIDEO_INFO_SIZE(video);
  guint8 *picture = (guint8 *)segment->image->data;
  if (GST_VIDEO_INFO_FORMAT(video) == GST_VIDEO_FORMAT_I420) {
    if (!segment->planes) segment->planes = g_malloc(bytes);
    guint8 *planes[] = {segment->planes, segment->planes + GST_VIDEO_INFO_PLANE_OFFSET(video, 1),
                        segment->planes + GST_VIDEO_INFO_PLANE_OFFSET(video, 2)};
    ARGBToI420(picture, segment->image->bytes_per_line, planes[0], GST_VIDEO_INFO_PLANE_STRIDE(video, 0),
               planes[1], GST_VIDEO_INFO_PLANE_STRIDE(video, 1), planes[2],
               GST_VIDEO_INFO_PLANE_STRIDE(video, 2), segment->image->width, segment->image->height);
    picture = segment->planes;
  }
  g_atomic_int_set(&segment->isBusy, TRUE);
  return gst_buffer_new_wrapped_full(GST_MEMORY_FLAG_READONLY, picture, bytes, 0, bytes, segment, release);
}

static GstFlowReturn create(GstPushSrc *base, GstBuffer **buffer) {
  DisplaySrc *self = (DisplaySrc *)base;
  if (!waitForPicture(self)) return GST_FLOW_FLUSHING;
  gint64 now = g_get_monotonic_time();
  gint64 intervalUs = (gint64)(G_USEC_PER_SEC / (rateAllowance * g_atomic_int_get(&self->rate)));
  self->nextSlotAt = MAX(self->nextSlotAt, now) + intervalUs;
  self->takenAt = now;
  Segment *segment = capture(self);
  if (!segment) {
    GST_ELEMENT_ERROR(self, RESOURCE, READ,
                      ("The display has no picture, or all that were captured are in use downstream."),
                      (NULL));
    return GST_FLOW_ERROR;
  }
  gboolean hasOtherSize = segment->image->width != GST_VIDEO_INFO_WIDTH(&self->video) ||
                          segment->image->height != GST_VIDEO_INFO_HEIGHT(&self->video);
  if (hasOtherSize && !gst_base_src_negotiate(GST_BASE_SRC(base))) return GST_FLOW_NOT_NEGOTIATED;
  drawPointer(self, segment->image);
  *buffer = wrapSegment(self, segment);
  return GST_FLOW_OK;
}

static GstCaps *getCaps(GstBaseSrc *base, GstCaps *filter) {
  DisplaySrc *self = (DisplaySrc *)base;
  GstCaps *caps = gst_pad_get_pad_template_caps(GST_BASE_SRC_PAD(base));
  if (self->display) {
    caps = gst_caps_make_writable(caps);
    gst_caps_set_simple(caps, "width", G_TYPE_INT, self->view.width, "height", G_TYPE_INT, self->view.height,
                        NULL);
  }
  if (!filter) return caps;
  GstCaps *both = gst_caps_intersect_full(filter, caps, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref(caps);
  return both;
}

static gboolean setCaps(GstBaseSrc *base, GstCaps *caps) {
  return gst_video_info_from_caps(&((DisplaySrc *)base)->video, caps);
}

static gboolean unlock(GstBaseSrc *base) {
  DisplaySrc *self = (DisplaySrc *)base;
  g_atomic_int_set(&self->isFlushing, TRUE);
  wakeUp(self);
  return TRUE;
}

static gboolean unlockStop(GstBaseSrc *base) {
  g_atomic_int_set(&((DisplaySrc *)base)->isFlushing, FALSE);
  return TRUE;
}

static void setProperty(GObject *object, guint id, const GValue *value, GParamSpec *spec) {
  DisplaySrc *self = (DisplaySrc *)object;
  if (id == PROPERTY_DISPLAY) {
    g_free(self->displayName);
    self->displayName = g_value_dup_string(value);
  } else if (id == PROPERTY_RATE) {
    g_atomic_int_set(&self->rate, g_value_get_int(value));
    g_atomic_int_set(&self->isImmediate, TRUE);
    wakeUp(self);
  } else {
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

static void getProperty(GObject *object, guint id, GValue *value, GParamSpec *spec) {
  DisplaySrc *self = (DisplaySrc *)object;
  if (id == PROPERTY_DISPLAY)
    g_value_set_string(value, self->displayName);
  else if (id == PROPERTY_RATE)
    g_value_set_int(value, g_atomic_int_get(&self->rate));
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
}

static void finalize(GObject *object) {
  DisplaySrc *self = (DisplaySrc *)object;
  g_free(self->displayName);
  close(self->wake);
  G_OBJECT_CLASS(displaySrc_parent_class)->finalize(object);
}

static void displaySrc_init(DisplaySrc *self) {
  self->rate = 60;
  self->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  gst_base_src_set_live(GST_BASE_SRC(self), TRUE);
  gst_base_src_set_format(GST_BASE_SRC(self), GST_FORMAT_TIME);
  gst_base_src_set_do_timestamp(GST_BASE_SRC(self), TRUE);
}

static void displaySrc_class_init(DisplaySrcClass *class) {
  GObjectClass *object = G_OBJECT_CLASS(class);
  object->set_property = setProperty;
  object->get_property = getProperty;
  object->finalize = finalize;
  g_object_class_install_property(object, PROPERTY_DISPLAY,
                                  g_param_spec_string("display-name", "Display", "Such as :99", NULL,
                                                      G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS));
  g_object_class_install_property(
      object, PROPERTY_RATE,
      g_param_spec_int("rate", "Rate",
                       "Approximate maximum of pictures per second; setting it captures one immediately", 1,
                       MAX_RATE, 60, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS));
  GstBaseSrcClass *source = GST_BASE_SRC_CLASS(class);
  source->start = start;
  source->stop = stop;
  source->get_caps = getCaps;
  source->set_caps = setCaps;
  source->unlock = unlock;
  source->unlock_stop = unlockStop;
  GST_PUSH_SRC_CLASS(class)->create = create;
  gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(class), "Display capture", "Source/Video",
                                        "Captures a display's picture as soon as it changes", "Joypod");
  gst_element_class_add_static_pad_template(GST_ELEMENT_CLASS(class), &template);
}

GType pictures_get_type(void); /* pictures.c */
GType av1Pay_get_type(void);   /* av1pay.c */

static gboolean loadPlugin(GstPlugin *plugin) {
  return gst_element_register(plugin, "joypoddisplaysrc", GST_RANK_NONE, displaySrc_get_type()) &&
         gst_element_register(plugin, "joypodpictures", GST_RANK_NONE, pictures_get_type()) &&
         gst_element_register(plugin, "joypodav1pay", GST_RANK_NONE, av1Pay_get_type());
}

#define PACKAGE "joypod"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, joypod,
                  "Joypod's capture of a display, and packets of pictures", loadPlugin, "1.0",
                  GST_LICENSE_UNKNOWN, PACKAGE, "https://joypod.dev")
