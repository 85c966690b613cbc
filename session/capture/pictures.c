/*
 * joypodpictures: combines all RTP packets of a picture into one buffer. Each packet is preceded by its
 * length: two bytes, big-endian.
 *
 * The packets of a picture arrive together. Pulling them one by one would wake the streamer for each, which
 * costs more than copying them.
 */
#include <gst/gst.h>

typedef struct {
  GstElement parent;
  GstPad *source;
  GByteArray *picture; /* the part received so far */
} Pictures;

typedef struct {
  GstElementClass parent;
} PicturesClass;

GType pictures_get_type(void);
G_DEFINE_TYPE(Pictures, pictures, GST_TYPE_ELEMENT)

enum { HEADER_BYTES = 12, MARKER = 0x80 };

static GstStaticPadTemplate sinkTemplate =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS("application/x-rtp"));
static GstStaticPadTemplate sourceTemplate = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS("application/x-joypod-picture"));

static GstFlowReturn pushPicture(Pictures *self, GstClockTime at) {
  gsize bytes = self->picture->len;
  GstBuffer *picture = gst_buffer_new_wrapped(g_byte_array_free(self->picture, FALSE), bytes);
  self->picture = g_byte_array_sized_new((guint)bytes);
  GST_BUFFER_PTS(picture) = at;
  return gst_pad_push(self->source, picture);
}

static GstFlowReturn addPacket(Pictures *self, GstBuffer *packet) {
  GstMapInfo map;
  if (!gst_buffer_map(packet, &map, GST_MAP_READ)) return GST_FLOW_ERROR;
  gboolean isPacket = map.size >= HEADER_BYTES && map.size <= G_MAXUINT16;
  gboolean isLast = isPacket && map.data[1] & MARKER; /* of its picture */
  if (isPacket) {
    guint8 length[] = {(guint8)(map.size >> 8), (guint8)(map.size & 255)};
    g_byte_array_append(self->picture, length, sizeof length);
    g_byte_array_append(self->picture, map.data, (guint)map.size);
  }
  gst_buffer_unmap(packet, &map);
  if (!isPacket) {
    GST_ELEMENT_ERROR(self, STREAM, FORMAT, ("What came is no RTP packet."), (NULL));
    return GST_FLOW_ERROR;
  }
  return isLast ? pushPicture(self, GST_BUFFER_PTS(packet)) : GST_FLOW_OK;
}

static GstFlowReturn chain(GstPad *pad, GstObject *parent, GstBuffer *packet) {
  (void)pad;
  GstFlowReturn result = addPacket((Pictures *)parent, packet);
  gst_buffer_unref(packet);
  return result;
}

static GstFlowReturn chainList(GstPad *pad, GstObject *parent, GstBufferList *packets) {
  (void)pad;
  GstFlowReturn result = GST_FLOW_OK;
  for (guint i = 0; i < gst_buffer_list_length(packets) && result == GST_FLOW_OK; i++) {
    result = addPacket((Pictures *)parent, gst_buffer_list_get(packets, i));
  }
  gst_buffer_list_unref(packets);
  return result;
}

static gboolean handleEvent(GstPad *pad, GstObject *parent, GstEvent *event) {
  Pictures *self = (Pictures *)parent;
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) g_byte_array_set_size(self->picture, 0);
  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS) return gst_pad_event_default(pad, parent, event);
  gst_event_unref(event);
  GstCaps *caps = gst_static_pad_template_get_caps(&sourceTemplate);
  gboolean isTaken = gst_pad_push_event(self->source, gst_event_new_caps(caps));
  gst_caps_unref(caps);
  return isTaken;
}

static void finalize(GObject *object) {
  g_byte_array_unref(((Pictures *)object)->picture);
  G_OBJECT_CLASS(pictures_parent_class)->finalize(object);
}

static void pictures_init(Pictures *self) {
  GstPad *sink = gst_pad_new_from_static_template(&sinkTemplate, "sink");
  gst_pad_set_chain_function(sink, chain);
  gst_pad_set_chain_list_function(sink, chainList);
  gst_pad_set_event_function(sink, handleEvent);
  gst_element_add_pad(GST_ELEMENT(self), sink);
  self->source = gst_pad_new_from_static_template(&sourceTemplate, "src");
  gst_pad_use_fixed_caps(self->source);
  gst_element_add_pad(GST_ELEMENT(self), self->source);
  self->picture = g_byte_array_new();
}

static void pictures_class_init(PicturesClass *class) {
  G_OBJECT_CLASS(class)->finalize = finalize;
  GstElementClass *element = GST_ELEMENT_CLASS(class);
  gst_element_class_set_static_metadata(element, "Pictures of packets", "Codec/Payloader/Network/RTP",
                                        "Hands the RTP packets of a picture on as one buffer", "Joypod");
  gst_element_class_add_static_pad_template(element, &sinkTemplate);
  gst_element_class_add_static_pad_template(element, &sourceTemplate);
}
