/*
 * joypodav1pay: packs AV1 temporal units into RTP packets, using the RTP payload format of the Alliance for
 * Open Media (version 1.0).
 *
 * GStreamer has this only in its Rust plugins, which the distribution does not package.
 *
 * A temporal unit is the encoder's output for one picture: OBUs, each with a header, its length and its
 * content. In packets each OBU, or the part of it that fits, is preceded by a length. The header's length
 * field and OBUs that a receiver does not need are dropped.
 */
#include <gst/rtp/rtp.h>
#include <string.h>

typedef struct {
  GstRTPBasePayload parent;
} Av1Pay;
typedef struct {
  GstRTPBasePayloadClass parent;
} Av1PayClass;

GType av1Pay_get_type(void);
G_DEFINE_TYPE(Av1Pay, av1Pay, GST_TYPE_RTP_BASE_PAYLOAD)

enum { SEQUENCE_HEADER = 1, TEMPORAL_DELIMITER = 2, TILE_LIST = 8, PADDING = 15 };
enum { HAS_EXTENSION = 0x04, HAS_SIZE = 0x02 };
/* First byte of a packet. */
enum { CONTINUES = 0x80, IS_CONTINUED = 0x40, STARTS_SEQUENCE = 0x08 };

static GstStaticPadTemplate sinkTemplate =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
                            GST_STATIC_CAPS("video/x-av1, stream-format=obu-stream, alignment=tu"));
static GstStaticPadTemplate sourceTemplate = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS,
    GST_STATIC_CAPS("application/x-rtp, media=video, encoding-name=AV1, clock-rate=90000"));

/* Unread bytes. */
typedef struct {
  const guint8 *at;
  gsize left;
} Bytes;

typedef struct {
  guint8 type;
  guint8 header[2];
  guint headerBytes;
  Bytes content;
} Obu;

/* Reads a LEB128 number: seven bits per byte, lowest first. Returns FALSE when it is truncated or larger
 * than any OBU. */
static gboolean readLength(Bytes *bytes, gsize *value) {
  *value = 0;
  for (guint shift = 0; shift < 32 && bytes->left > 0; shift += 7) {
    guint8 byte = *bytes->at++;
    bytes->left--;
    *value |= (gsize)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return TRUE;
  }
  return FALSE;
}

/* Reads the next OBU, with its header without the length. Returns FALSE when the unit ends within it. An
 * OBU without a length extends to the end of the unit. */
static gboolean readObu(Bytes *unit, Obu *obu) {
  guint8 header = unit->at[0];
  obu->type = header >> 3 & 15;
  obu->headerBytes = header & HAS_EXTENSION ? 2 : 1;
  if (unit->left < obu->headerBytes) return FALSE;
  obu->header[0] = (guint8)(header & ~HAS_SIZE);
  obu->header[1] = obu->headerBytes == 2 ? unit->at[1] : 0;
  unit->at += obu->headerBytes;
  unit->left -= obu->headerBytes;
  gsize length = unit->left;
  if (header & HAS_SIZE && !readLength(unit, &length)) return FALSE;
  if (length > unit->left) return FALSE;
  obu->content = (Bytes){unit->at, length};
  unit->at += length;
  unit->left -= length;
  return TRUE;
}

/* Packets of a unit: the full ones and the one being filled. */
typedef struct {
  GstRTPBasePayload *payload;
  GstBufferList *full;
  GByteArray *packet; /* empty, or starting with its first byte */
  gsize room;         /* size of a packet */
  GstClockTime at;
  gboolean startsSequence;
} Packets;

static void closePacket(Packets *packets, gboolean isLast) {
  GstBuffer *buffer =
      gst_rtp_base_payload_allocate_output_buffer(packets->payload, packets->packet->len, 0, 0);
  GstRTPBuffer rtp = GST_RTP_BUFFER_INIT;
  gst_rtp_buffer_map(buffer, GST_MAP_WRITE, &rtp);
  memcpy(gst_rtp_buffer_get_payload(&rtp), packets->packet->data, packets->packet->len);
  gst_rtp_buffer_set_marker(&rtp, isLast);
  gst_rtp_buffer_unmap(&rtp);
  GST_BUFFER_PTS(buffer) = packets->at;
  gst_buffer_list_add(packets->full, buffer);
  g_byte_array_set_size(packets->packet, 0);
}

static void openPacket(Packets *packets, gboolean continues) {
  guint8 first = (guint8)((continues ? CONTINUES : 0) | (packets->startsSequence ? STARTS_SEQUENCE : 0));
  packets->startsSequence = FALSE; /* only the first packet carries it */
  g_byte_array_append(packets->packet, &first, 1);
}

/* Lengths in packets have one or two bytes. */
static void appendLength(GByteArray *packet, gsize length) {
  guint8 bytes[] = {(guint8)(length & 0x7f), (guint8)(length >> 7)};
  if (length > 0x7f) bytes[0] |= 0x80;
  g_byte_array_append(packet, bytes, length > 0x7f ? 2 : 1);
}

/* Returns how many of the wanted bytes fit into the rest of a packet together with their length. */
static gsize fittingLength(gsize wanted, gsize rest) {
  if (rest < 2) return 0;
  gsize most = rest - 1 > 0x7f ? rest - 2 : rest - 1;
  return MIN(wanted, most);
}

static void addObu(Packets *packets, const Obu *obu) {
  gsize headerLeft = obu->headerBytes, contentLeft = obu->content.left;
  const guint8 *header = obu->header, *content = obu->content.at;
  while (headerLeft + contentLeft > 0) {
    gboolean isBegun = headerLeft < obu->headerBytes || contentLeft < obu->content.left;
    if (packets->packet->len == 0) openPacket(packets, isBegun);
    gsize part = fittingLength(headerLeft + contentLeft, packets->room - packets->packet->len);
    if (part > headerLeft || part == headerLeft + contentLeft) {
      appendLength(packets->packet, part);
      g_byte_array_append(packets->packet, header, (guint)headerLeft);
      g_byte_array_append(packets->packet, content, (guint)(part - headerLeft));
      content += part - headerLeft;
      contentLeft -= part - headerLeft;
      headerLeft = 0;
    }
    if (contentLeft + headerLeft == 0) return;
    if (headerLeft == 0)
      packets->packet->data[0] |= IS_CONTINUED; /* an OBU that did not start here is not continued */
    closePacket(packets, FALSE);
  }
}

static gboolean isSent(const Obu *obu) {
  return obu->type != TEMPORAL_DELIMITER && obu->type != TILE_LIST && obu->type != PADDING;
}

/* Returns whether all OBUs of the unit are complete, and in `startsSequence` whether a sequence starts
 * with it, where a receiver can begin. */
static gboolean checkUnit(Bytes unit, gboolean *startsSequence) {
  *startsSequence = FALSE;
  while (unit.left > 0) {
    Obu obu;
    if (!readObu(&unit, &obu)) return FALSE;
    if (obu.type == SEQUENCE_HEADER) *startsSequence = TRUE;
  }
  return TRUE;
}

static GstBufferList *buildPackets(GstRTPBasePayload *payload, Bytes unit, gboolean startsSequence,
                                   GstClockTime at) {
  Packets packets = {
      .payload = payload,
      .full = gst_buffer_list_new(),
      .packet = g_byte_array_new(),
      .room = GST_RTP_BASE_PAYLOAD_MTU(payload) - gst_rtp_buffer_calc_header_len(0),
      .at = at,
      .startsSequence = startsSequence,
  };
  while (unit.left > 0) {
    Obu obu;
    readObu(&unit, &obu); /* checkUnit has validated it */
    if (isSent(&obu)) addObu(&packets, &obu);
  }
  if (packets.packet->len > 0) closePacket(&packets, TRUE);
  g_byte_array_unref(packets.packet);
  return packets.full;
}

static GstFlowReturn handleBuffer(GstRTPBasePayload *payload, GstBuffer *buffer) {
  GstMapInfo map;
  if (!gst_buffer_map(buffer, &map, GST_MAP_READ)) {
    gst_buffer_unref(buffer);
    return GST_FLOW_ERROR;
  }
  Bytes unit = {map.data, map.size};
  gboolean startsSequence;
  gboolean isWhole = checkUnit(unit, &startsSequence);
  GstBufferList *packets =
      isWhole ? buildPackets(payload, unit, startsSequence, GST_BUFFER_PTS(buffer)) : NULL;
  gst_buffer_unmap(buffer, &map);
  gst_buffer_unref(buffer);
  if (!isWhole) {
    GST_ELEMENT_ERROR(payload, STREAM, FORMAT, ("A temporal unit of AV1 ends within an OBU."), (NULL));
    return GST_FLOW_ERROR;
  }
  if (gst_buffer_list_length(packets) > 0) return gst_rtp_base_payload_push_list(payload, packets);
  gst_buffer_list_unref(packets); /* the unit contains nothing for a receiver */
  return GST_FLOW_OK;
}

static gboolean setCaps(GstRTPBasePayload *payload, GstCaps *caps) {
  (void)caps;
  gst_rtp_base_payload_set_options(payload, "video", TRUE, "AV1", 90000);
  return gst_rtp_base_payload_set_outcaps(payload, NULL);
}

static void av1Pay_init(Av1Pay *self) { (void)self; }

static void av1Pay_class_init(Av1PayClass *class) {
  GstRTPBasePayloadClass *payload = GST_RTP_BASE_PAYLOAD_CLASS(class);
  payload->set_caps = setCaps;
  payload->handle_buffer = handleBuffer;
  GstElementClass *element = GST_ELEMENT_CLASS(class);
  gst_element_class_set_static_metadata(element, "RTP packets of AV1", "Codec/Payloader/Network/RTP",
                                        "Makes RTP packets of AV1's temporal units", "Joypod");
  gst_element_class_add_static_pad_template(element, &sinkTemplate);
  gst_element_class_add_static_pad_template(element, &sourceTemplate);
}
