/**
 * The protocol between the page and a game node's responder when a player tests the connection. The page
 * opens two data channels. It requests the two bursts and sends pings on one of them, and the bursts arrive
 * on the other. Messages are JSON text, packets are binary.
 */
import { z } from "zod";

/** The two data channels, both opened by the page, and the limits of a test. */
export const connectionTest = {
  /** Path on a responder to which the API posts a page's offer. */
  path: "/connection-test",
  /** The `aud` of the tickets for these offers, in place of a session. */
  audience: "connection-test",
  /** Ordered and reliable, like a game's input channel. Pings, requests and the ends of bursts use it. */
  controlChannel: "control",
  /** Unordered and without retransmission, like the packets of a picture. */
  packetChannel: "packets",
  /** A test ends this long after the answer, whatever it is doing. */
  durationSeconds: 10,
  /**
   * Sizes in bytes of a small packet, whose loss is counted, and of a large one, which fits one datagram on
   * all common networks.
   */
  smallPacketBytes: 200,
  largePacketBytes: 1_100,
  /** The number of small packets, and the time over which they are spread evenly. */
  lossPackets: 400,
  lossMs: 2_000,
  /** Duration of the burst of large packets. */
  bandwidthMs: 3_000,
  /** Longer requests and pings are dropped unread. */
  maxMessageBytes: 128,
} as const;

/**
 * A burst of packets: small ones at a low rate, whose loss is counted, or large ones as fast as the network
 * allows, up to the responder's limit.
 */
export const TestBurst = z.enum(["loss", "bandwidth"]);
export type TestBurst = z.infer<typeof TestBurst>;

/** A message from the page: a request for a burst, each once per test, or a ping. */
export const TestRequest = z.discriminatedUnion("t", [
  z.object({ t: z.literal("send"), burst: TestBurst }),
  z.object({ t: z.literal("ping"), n: z.int().min(0) }),
]);
export type TestRequest = z.infer<typeof TestRequest>;

/**
 * A message from the responder, in addition to packets: an unchanged ping, or the number of packets of a
 * burst, all of which have been sent, and its limit in kbit/s.
 */
export const TestNotice = z.discriminatedUnion("t", [
  z.object({ t: z.literal("ping"), n: z.int().min(0) }),
  z.object({ t: z.literal("sent"), burst: TestBurst, packets: z.int().min(0), limitKbps: z.int().min(1) }),
]);
export type TestNotice = z.infer<typeof TestNotice>;

/**
 * A responder's response to the API: an SDP answer without candidates, the node, and the address at which
 * browsers reach it.
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
