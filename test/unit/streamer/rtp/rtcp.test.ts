import { expect } from "chai";
import { readRtcp, parseTransportFeedback } from "#streamer/rtp/rtcp.ts";
import fc from "fast-check";

describe("readRtcp", () => {
  it("returns lost packets across the sequence number wrap", () => {
    const nack = Buffer.from([
      0x81, 205, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 0xfe, 0x00, 0x05, 0x00, 0x10, 0x80, 0x00,
    ]);
    expect(readRtcp(nack)).to.deep.equal([{ type: "nack", lost: [0xfffe, 0xffff, 1, 16, 32] }]);
  });

  it("returns every request of a compound packet, and nothing of a truncated one", () => {
    const loss = Buffer.from([0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2]);
    const nack = Buffer.from([0x81, 205, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 9, 0, 0]);
    expect(readRtcp(Buffer.concat([loss, nack]))).to.deep.equal([
      { type: "keyFrameRequest" },
      { type: "nack", lost: [9] },
    ]);
    expect(readRtcp(nack.subarray(0, 14))).to.deep.equal([]);
  });
});

/** A feedback packet: header, then chunks and deltas as given, padded to whole words. */
function feedback({
  base,
  count,
  reference,
  rest,
}: {
  base: number;
  count: number;
  reference: number;
  rest: number[];
}): Buffer {
  const padded = [...rest, ...new Array<number>((4 - (rest.length % 4)) % 4).fill(0)];
  const packet = Buffer.alloc(20 + padded.length);
  packet.writeUInt8(0x8f, 0);
  packet.writeUInt8(205, 1);
  packet.writeUInt16BE(packet.length / 4 - 1, 2);
  packet.writeUInt16BE(base, 12);
  packet.writeUInt16BE(count, 14);
  packet.writeIntBE(reference, 16, 3);
  packet.set(padded, 20);
  return packet;
}

describe("parseTransportFeedback", () => {
  it("parses a run of small deltas across the wrap of the sequence numbers", () => {
    const packet = feedback({ base: 65_534, count: 3, reference: 2, rest: [0x20, 3, 4, 8, 40] });
    expect(parseTransportFeedback(packet)).to.deep.equal([
      { sequence: 65_534, arrivedAtMs: 129 },
      { sequence: 65_535, arrivedAtMs: 131 },
      { sequence: 0, arrivedAtMs: 141 },
    ]);
  });

  it("parses a one-bit vector, in which lost packets have no delta", () => {
    const packet = feedback({ base: 10, count: 4, reference: 0, rest: [0b10101000, 0, 4, 4] });
    expect(parseTransportFeedback(packet)).to.deep.equal([
      { sequence: 10, arrivedAtMs: 1 },
      { sequence: 11, arrivedAtMs: null },
      { sequence: 12, arrivedAtMs: 2 },
      { sequence: 13, arrivedAtMs: null },
    ]);
  });

  it("parses a two-bit vector with large and negative deltas", () => {
    const packet = feedback({ base: 1, count: 3, reference: -1, rest: [0b11100001, 0, 0xff, 0xfc, 4] });
    expect(parseTransportFeedback(packet)).to.deep.equal([
      { sequence: 1, arrivedAtMs: -65 },
      { sequence: 2, arrivedAtMs: null },
      { sequence: 3, arrivedAtMs: -64 },
    ]);
  });

  it("returns undefined for a truncated packet", () => {
    const packet = feedback({ base: 0, count: 200, reference: 0, rest: [0x20, 200] });
    expect(parseTransportFeedback(packet)).to.equal(undefined);
    expect(parseTransportFeedback(packet.subarray(0, 12))).to.equal(undefined);
  });

  it("returns undefined when a few bytes claim tens of thousands of packets", () => {
    const runs = (count: number): number[] => [
      ...Array.from({ length: Math.floor(count / 0x1fff) }, () => [0x1f, 0xff]).flat(),
      (count % 0x1fff) >> 8,
      (count % 0x1fff) & 0xff,
    ];
    expect(
      parseTransportFeedback(feedback({ base: 0, count: 65_535, reference: 0, rest: runs(65_535) })),
    ).to.equal(undefined);
    expect(
      parseTransportFeedback(feedback({ base: 0, count: 4_000, reference: 0, rest: runs(4_000) })),
    ).to.have.length(4_000);
  });

  it("does not throw for arbitrary bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        parseTransportFeedback(Buffer.from(bytes));
        readRtcp(Buffer.from(bytes));
      }),
    );
  });
});

describe("readRtcp", () => {
  const pictureLoss = Buffer.from([0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2]);
  const fullIntraRequest = Buffer.from([0x84, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2]);
  const nack = Buffer.from([0x81, 205, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 5, 0, 0]);
  const receiverReport = Buffer.from([0x80, 201, 0, 1, 0, 0, 0, 1]);

  it("returns the events of a compound packet in order", () => {
    const compound = Buffer.concat([
      receiverReport,
      nack,
      pictureLoss,
      fullIntraRequest,
      feedback({ base: 0, count: 1, reference: 0, rest: [0x20, 1, 4] }),
    ]);
    expect(readRtcp(compound).map(({ type }) => type)).to.deep.equal([
      "nack",
      "keyFrameRequest",
      "keyFrameRequest",
      "feedback",
    ]);
  });

  it("ignores a truncated packet at the end", () => {
    expect(readRtcp(Buffer.concat([pictureLoss, nack.subarray(0, 10)]))).to.deep.equal([
      { type: "keyFrameRequest" },
    ]);
  });
});
