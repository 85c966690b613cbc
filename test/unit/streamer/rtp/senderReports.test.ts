import { expect } from "chai";
import { createSenderReports } from "#streamer/rtp/senderReports.ts";

const startedAt = Date.UTC(2026, 0, 1);

function packetOf(timestamp: number, bytes = 112): Buffer {
  const packet = Buffer.alloc(bytes);
  packet.writeUInt32BE(timestamp, 4);
  return packet;
}

describe("createSenderReports", () => {
  let now: number;

  beforeEach(() => {
    now = startedAt;
  });
  const create = (canonicalName = "game") =>
    createSenderReports({ ssrc: 0x0a0b0c0d, clockRate: 90_000, canonicalName, wallMs: () => now });
  const timestampOf = (report: Buffer | undefined) => report?.readUInt32BE(16);

  it("builds a report and a source description (RFC 3550), counting retransmissions", () => {
    const reports = create();
    const packet = packetOf(1_000);
    reports.noteEncoded(packet);
    reports.countSent(packet);
    reports.countSent(packet);
    now += 1_250;
    expect(reports.countSent(packet)?.toString("hex")).to.equal(
      [
        "80c80006",
        "0a0b0c0d",
        "ed003781",
        "40000000",
        (1_000 + 1_250 * 90).toString(16).padStart(8, "0"),
        "00000002",
        "000000c8",
        "81ca0003",
        "0a0b0c0d",
        "010467616d650000",
      ].join(""),
    );
  });

  it("pads the name with one to four zeros", () => {
    for (const [name, bytes] of [
      ["a", 12],
      ["ab", 16],
      ["abcde", 16],
      ["abcdef", 20],
    ] as const) {
      const reports = create(name);
      reports.noteEncoded(packetOf(0));
      const description = reports.countSent(packetOf(0))!.subarray(28);
      expect(description, name).to.have.lengthOf(bytes);
      expect(description.readUInt16BE(2), name).to.equal(bytes / 4 - 1);
      expect(description.at(-1), name).to.equal(0);
    }
  });

  it("returns one report a second, and none before the first media", () => {
    const reports = create();
    expect(reports.countSent(packetOf(0))).to.equal(undefined);
    reports.noteEncoded(packetOf(0));
    const made: number[] = [];
    for (; now < startedAt + 3_000; now += 10) if (reports.countSent(packetOf(0))) made.push(now - startedAt);
    expect(made).to.deep.equal([0, 1_000, 2_000]);
  });

  it("maps the time of the report to a timestamp, across the timestamp wrap", () => {
    const reports = create();
    const old = packetOf(0xffff_ff00);
    reports.noteEncoded(old);
    expect(timestampOf(reports.countSent(old))).to.equal(0xffff_ff00);
    now += 980;
    reports.noteEncoded(packetOf(0x0001_0000));
    now += 10;
    reports.noteEncoded(packetOf(0x0001_0000)); // Another packet of the same picture.
    now += 10;
    expect(timestampOf(reports.countSent(old))).to.equal(0x0001_0000 + 20 * 90);
    now += 1_000;
    expect(timestampOf(reports.countSent(old))).to.equal(0x0001_0000 + 1_020 * 90);
  });
});
