const senderReport = 200;
const sourceDescription = 202;
const canonicalNameItem = 1;
const rtpHeaderBytes = 12;
const senderReportBytes = 28;
const reportEveryMs = 1_000;
/** NTP timestamps count from 1900. */
const secondsFrom1900To1970 = 2_208_988_800;

export interface SenderReportsOptions {
  ssrc: number;
  /** Timestamp units per second. */
  clockRate: number;
  /** Identical for all tracks that share a timeline. ASCII, up to 255 bytes. */
  canonicalName: string;
  /** Milliseconds since 1970 on a clock that is never adjusted, and that all these tracks share. */
  wallMs: () => number;
}

/** Sender reports of one track (RFC 3550), with which browsers synchronize sound and picture. */
export interface SenderReports {
  /**
   * Records that the encoder produced media with this packet's timestamp, whether it is sent now or later.
   */
  noteEncoded(packet: Buffer): void;
  /**
   * Counts a packet that is about to be sent or resent. Returns the report that is due before it, if any.
   */
  countSent(packet: Buffer): Buffer | undefined;
}

/**
 * Returns the reports of a track, one a second, for packets without header extensions and contributing
 * sources. A report maps the time of the report to a media timestamp. It uses the last encoded timestamp,
 * because the packet it precedes may have waited or may be a retransmission.
 */
export function createSenderReports({
  ssrc,
  clockRate,
  canonicalName,
  wallMs,
}: SenderReportsOptions): SenderReports {
  const description = describeSource(ssrc, canonicalName);
  let last: { timestamp: number; at: number } | undefined;
  let reportedAt = -Infinity;
  let packets = 0;
  let octets = 0;

  const report = (): Buffer | undefined => {
    const at = wallMs();
    if (!last || at - reportedAt < reportEveryMs) return undefined;
    reportedAt = at;
    const buffer = Buffer.alloc(senderReportBytes);
    writeHeader(buffer, 0, senderReport);
    buffer.writeUInt32BE(ssrc, 4);
    buffer.writeUInt32BE((Math.floor(at / 1_000) + secondsFrom1900To1970) % 2 ** 32, 8);
    buffer.writeUInt32BE(Math.floor(((at % 1_000) / 1_000) * 2 ** 32), 12);
    buffer.writeUInt32BE((last.timestamp + Math.round(((at - last.at) * clockRate) / 1_000)) % 2 ** 32, 16);
    buffer.writeUInt32BE(packets % 2 ** 32, 20);
    buffer.writeUInt32BE(octets % 2 ** 32, 24);
    return Buffer.concat([buffer, description]);
  };
  return {
    noteEncoded(packet) {
      const timestamp = packet.readUInt32BE(4);
      // All packets of a picture share its timestamp.
      if (timestamp !== last?.timestamp) last = { timestamp, at: wallMs() };
    },
    countSent(packet) {
      const due = report();
      packets++;
      octets += packet.length - rtpHeaderBytes;
      return due;
    },
  };
}

/** Builds a source description with one chunk: the name, padded with one to four zeros. */
function describeSource(ssrc: number, canonicalName: string): Buffer {
  const name = Buffer.from(canonicalName, "latin1");
  const buffer = Buffer.alloc(8 + Math.ceil((2 + name.length + 1) / 4) * 4);
  writeHeader(buffer, 1, sourceDescription);
  buffer.writeUInt32BE(ssrc, 4);
  buffer.set([canonicalNameItem, name.length, ...name], 8);
  return buffer;
}

/** Writes a header: version 2, no padding, length in 32-bit words minus one. */
function writeHeader(buffer: Buffer, count: number, type: number): void {
  buffer.set([0x80 | count, type], 0);
  buffer.writeUInt16BE(buffer.length / 4 - 1, 2);
}
