/**
 * What a page and a game node's responder say to each other when a player tests their connection: the page
 * opens two data channels, asks on one of them for the two bursts and sends pings there, and the bursts come
 * on the other. Messages are JSON text, packets are binary.
 */
import { z } from "zod";

/** The two data channels, both opened by the page, and what a test may take. */
export const connectionTest = {
  /** Where the API posts a page's offer on a responder. */
  path: "/connection-test",
  /** Session that the tickets of these offers are for (their `aud`). */
  audience: "connection-test",
  /**
   * Ordered and reliable, as the channel of a game's input: pings are sent back as they came, requests and
   * their ends go here too.
   */
  controlChannel: "control",
  /** Unordered and never sent again, as the packets of a picture. */
  packetChannel: "packets",
  /** From its answer on, a test ends after this, whatever it does. */
  durationSeconds: 10,
  /**
   * Bytes of a small packet, whose loss is counted, and of a large one, which fits one datagram of every
   * usual way.
   */
  smallPacketBytes: 200,
  largePacketBytes: 1_100,
  /** Small packets: so many, evenly over this time. */
  lossPackets: 400,
  lossMs: 2_000,
  /** How long large packets come. */
  bandwidthMs: 3_000,
  /** Requests and pings longer than this are dropped unread. */
  maxMessageBytes: 128,
} as const;

/**
 * A burst of packets: small ones at a low rate, whose loss is counted, or large ones as fast as the way takes
 * them, up to the responder's limit.
 */
export const TestBurst = z.enum(["loss", "bandwidth"]);
export type TestBurst = z.infer<typeof TestBurst>;

/** What the page sends: a request for a burst, each once in a test, or a ping. */
export const TestRequest = z.discriminatedUnion("t", [
  z.object({ t: z.literal("send"), burst: TestBurst }),
  z.object({ t: z.literal("ping"), n: z.int().min(0) }),
]);
export type TestRequest = z.infer<typeof TestRequest>;

/**
 * What the responder sends besides packets: a ping as it came, or how many packets a burst had, all of which
 * are on their way, and its limit in kbit/s.
 */
export const TestNotice = z.discriminatedUnion("t", [
  z.object({ t: z.literal("ping"), n: z.int().min(0) }),
  z.object({ t: z.literal("sent"), burst: TestBurst, packets: z.int().min(0), limitKbps: z.int().min(1) }),
]);
export type TestNotice = z.infer<typeof TestNotice>;

/**
 * A responder's answer to the API: an SDP answer without candidates, the node, and where browsers reach it
 * there.
 */
export const TestSdpAnswer = z.object({
  sdp: z.string().max(65_536),
  nodeName: z.string().max(253),
  addresses: z
    .array(z.union([z.ipv4(), z.ipv6()]))
    .min(1)
    .max(8),
  udpPort: z.int().min(1).max(65_535),
});
export type TestSdpAnswer = z.infer<typeof TestSdpAnswer>;
