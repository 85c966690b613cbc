/*
 * vaav1enc and vah265enc: encoders in software under the names of a GPU's, with the properties that a
 * streamer sets. All but the bitrate and the buffer's size are accepted, and have no effect. A bitrate that
 * is set brings a key frame, even when it is the same: VA-API's encoders begin again with it. The buffer's
 * size has no effect either, but VA-API's encoders would keep the one of another bitrate: where it does not
 * follow the bitrate, this process ends.
 */
#include <gst/gst.h>

typedef struct {
  GstBin parent;
  GstElement *encoder;
  guint bitrate;      /* 0 before the first one */
  gboolean hasBuffer; /* of this bitrate */
} StandIn;

typedef struct {
  GstBinClass parent;
  const gchar *chain;   /* its encoder is called software */
  const gchar *bitrate; /* the encoder's property, in kbit/s */
} StandInClass;

enum { PROPERTY_BITRATE = 1, PROPERTY_BUFFER, PROPERTY_WORD, PROPERTY_NUMBER };

static GType standIn_get_type(void);
G_DEFINE_TYPE(StandIn, standIn, GST_TYPE_BIN)

/* The structure of gst_video_event_new_upstream_force_key_unit, without another library: the next picture is
 * a key frame. */
static void forceKeyFrame(GstElement *encoder) {
  GstPad *pad = gst_element_get_static_pad(encoder, "src");
  gst_pad_send_event(
      pad, gst_event_new_custom(GST_EVENT_CUSTOM_UPSTREAM,
                                gst_structure_new("GstForceKeyUnit", "running-time", GST_TYPE_CLOCK_TIME,
                                                  GST_CLOCK_TIME_NONE, "all-headers", G_TYPE_BOOLEAN, TRUE,
                                                  "count", G_TYPE_UINT, 0u, NULL)));
  gst_object_unref(pad);
}

static void setBitrate(StandIn *self, guint bitrate) {
  if (self->bitrate != 0 && !self->hasBuffer) g_error("The buffer's size is not that of the last bitrate.");
  self->bitrate = bitrate;
  self->hasBuffer = FALSE;
  StandInClass *class = G_TYPE_INSTANCE_GET_CLASS(self, standIn_get_type(), StandInClass);
  g_object_set(self->encoder, class->bitrate, bitrate, NULL);
  forceKeyFrame(self->encoder);
}

static void setBuffer(StandIn *self, guint size) {
  if (size < self->bitrate / 2 || size > self->bitrate)
    g_error("A buffer of %u kbit is not for %u kbit/s.", size, self->bitrate);
  self->hasBuffer = TRUE;
}

static void setProperty(GObject *object, guint id, const GValue *value, GParamSpec *spec) {
  (void)spec;
  if (id == PROPERTY_BITRATE) setBitrate((StandIn *)object, g_value_get_uint(value));
  if (id == PROPERTY_BUFFER) setBuffer((StandIn *)object, g_value_get_uint(value));
}

static void addGhostPad(GstElement *self, GstElement *chain, const gchar *name) {
  GstPad *pad = gst_element_get_static_pad(chain, name);
  gst_element_add_pad(self, gst_ghost_pad_new(name, pad));
  gst_object_unref(pad);
}

static void constructed(GObject *object) {
  G_OBJECT_CLASS(standIn_parent_class)->constructed(object);
  StandInClass *class = G_TYPE_INSTANCE_GET_CLASS(object, standIn_get_type(), StandInClass);
  GError *error = NULL;
  GstElement *chain = gst_parse_bin_from_description(class->chain, TRUE, &error);
  if (error != NULL) g_error("The stand-in cannot be made: %s", error->message);
  gst_bin_add(GST_BIN(object), chain);
  addGhostPad(GST_ELEMENT(object), chain, "sink");
  addGhostPad(GST_ELEMENT(object), chain, "src");
  StandIn *self = (StandIn *)object;
  self->encoder = gst_bin_get_by_name(GST_BIN(chain), "software");
}

static void finalize(GObject *object) {
  gst_clear_object(&((StandIn *)object)->encoder);
  G_OBJECT_CLASS(standIn_parent_class)->finalize(object);
}

static void standIn_init(StandIn *self) { (void)self; }

static void standIn_class_init(StandInClass *class) {
  static const gchar *numbers[] = {"key-int-max", "b-frames", "ref-frames", "target-usage",
                                   "hierarchical-level"};
  GObjectClass *object = G_OBJECT_CLASS(class);
  object->constructed = constructed;
  object->finalize = finalize;
  object->set_property = setProperty;
  GParamFlags flags = G_PARAM_WRITABLE | G_PARAM_STATIC_STRINGS;
  g_object_class_install_property(
      object, PROPERTY_BITRATE, g_param_spec_uint("bitrate", "Bitrate", "In kbit/s", 1, 100000, 2000, flags));
  g_object_class_install_property(
      object, PROPERTY_BUFFER,
      g_param_spec_uint("cpb-size", "Size of the buffer", "In kbit", 0, 100000, 0, flags));
  g_object_class_install_property(
      object, PROPERTY_WORD, g_param_spec_string("rate-control", "Rate control", "No effect", NULL, flags));
  for (guint i = 0; i < G_N_ELEMENTS(numbers); i++) {
    g_object_class_install_property(
        object, PROPERTY_NUMBER + i,
        g_param_spec_uint(numbers[i], numbers[i], "No effect", 0, 1024, 0, flags));
  }
  gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(class), "Stand-in", "Codec/Encoder/Video",
                                        "An encoder in software by another name", "Joypod");
}

/* A stand-in's type, which differs by its encoder alone. */
#define STAND_IN(Type, name, encoderChain, bitrateProperty)                                                  \
  typedef StandIn Type;                                                                                      \
  typedef StandInClass Type##Class;                                                                          \
  static GType name##_get_type(void);                                                                        \
  G_DEFINE_TYPE(Type, name, standIn_get_type())                                                              \
  static void name##_init(Type *self) { (void)self; }                                                        \
  static void name##_class_init(Type##Class *class) {                                                        \
    class->chain = "videoconvert ! video/x-raw,format=I420 ! " encoderChain;                                 \
    class->bitrate = bitrateProperty;                                                                        \
  }

STAND_IN(Av1, av1,
         "av1enc name=software usage-profile=realtime cpu-used=10 end-usage=cbr lag-in-frames=0 "
         "keyframe-max-dist=1024 row-mt=true threads=2",
         "target-bitrate")
STAND_IN(H265, h265, "x265enc name=software tune=zerolatency speed-preset=ultrafast key-int-max=1024",
         "bitrate")

static gboolean loadPlugin(GstPlugin *plugin) {
  return gst_element_register(plugin, "vaav1enc", GST_RANK_NONE, av1_get_type()) &&
         gst_element_register(plugin, "vah265enc", GST_RANK_NONE, h265_get_type());
}

#define PACKAGE "joypod"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, standin, "Encoders in software by other names",
                  loadPlugin, "1.0", GST_LICENSE_UNKNOWN, PACKAGE, "https://joypod.dev")
