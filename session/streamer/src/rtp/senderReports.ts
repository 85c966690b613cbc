const senderReport = 200;
const sourceDescription = 202;
const canonicalNameItem = 1;
const rtpHeaderBytes = 12;
const senderReportBytes = 28;
const reportEveryMs = 1_000;
/** NTP counts from 1900. */
const secondsFrom1900To1970 = 2_208_988_800;

export interface SenderReportsOptions {
  ssrc: number;
  /** Timestamps a second. */
  clockRate: number;
  /** The same for all tracks whose times belong together; ASCII, of up to 255 bytes. */
  canonicalName: string;
  /** Milliseconds since 1970, by a clock that is never set; the same one for all these tracks. */
  wallMs: () => number;
}

/** The sender reports of one track (RFC 3550), by which browsers synchronize sound and picture. */
export interface SenderReports {
  /** Media of this packet's timestamp has come from its encoder, to be sent now or after others. */
  came(packet: Buffer): void;
  /**
   * Counts a packet that is about to be sent, for the first time or again; returns the report that is due
   * before it, if one is.
   */
  sent(packet: Buffer): Buffer | undefined;
}

/**
 * Returns the reports of a track, one a second, of packets without header extensions and contributing
 * sources. A report says which timestamp media has at the time of the report. The packet that it leaves with
 * says that badly: it may have waited, or be sent again.
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
    came(packet) {
      const timestamp = packet.readUInt32BE(4);
      // The packets of a picture share its timestamp.
      if (timestamp !== last?.timestamp) last = { timestamp, at: wallMs() };
    },
    sent(packet) {
      const due = report();
      packets++;
      octets += packet.length - rtpHeaderBytes;
      return due;
    },
  };
}

/** A source description of one chunk: its name, and zeros, at least one, up to the next four bytes. */
function describeSource(ssrc: number, canonicalName: string): Buffer {
  const name = Buffer.from(canonicalName, "latin1");
  const buffer = Buffer.alloc(8 + Math.ceil((2 + name.length + 1) / 4) * 4);
  writeHeader(buffer, 1, sourceDescription);
  buffer.writeUInt32BE(ssrc, 4);
  buffer.set([canonicalNameItem, name.length, ...name], 8);
  return buffer;
}

/** Version 2, without padding; the length is in words of four bytes, less one. */
function writeHeader(buffer: Buffer, count: number, type: number): void {
  buffer.set([0x80 | count, type], 0);
  buffer.writeUInt16BE(buffer.length / 4 - 1, 2);
}
