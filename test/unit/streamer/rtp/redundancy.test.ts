import { expect } from "chai";
import { createRedundancy } from "#streamer/rtp/redundancy.ts";

const opus = 111;
const packetMs = 10;

function aPacket(sequence: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(12);
  header[0] = 0x80;
  header.writeUInt16BE(sequence & 0xffff, 2);
  header.writeUInt32BE((sequence * 48 * packetMs) >>> 0, 4);
  return Buffer.concat([header, payload]);
}

/** Parses RFC 2198: block headers, the last of one byte, then the blocks. */
function blocksOf(packet: Buffer): { payloadType: number; offset: number; payload: Buffer }[] {
  const headers: { payloadType: number; offset: number; length: number }[] = [];
  let at = 12;
  for (; (packet.readUInt8(at) & 0x80) !== 0; at += 4) {
    const fields = packet.readUIntBE(at + 1, 3);
    headers.push({ payloadType: packet.readUInt8(at) & 0x7f, offset: fields >> 10, length: fields & 0x3ff });
  }
  headers.push({ payloadType: packet.readUInt8(at), offset: 0, length: -1 });
  at += 1;
  return headers.map(({ payloadType, offset, length }) => {
    const payload = length === -1 ? packet.subarray(at) : packet.subarray(at, (at += length));
    return { payloadType, offset, payload };
  });
}

describe("createRedundancy", () => {
  it("includes the previous packet and its age in each packet", () => {
    const redundancy = createRedundancy(opus);
    expect(blocksOf(redundancy.wrap(aPacket(7, Buffer.from("first"))))).to.deep.equal([
      { payloadType: opus, offset: 0, payload: Buffer.from("first") },
    ]);
    const second = redundancy.wrap(aPacket(8, Buffer.alloc(400, 2)));
    expect(blocksOf(second)).to.deep.equal([
      { payloadType: opus, offset: 480, payload: Buffer.from("first") },
      { payloadType: opus, offset: 0, payload: Buffer.alloc(400, 2) },
    ]);
    expect(second.subarray(0, 12)).to.deep.equal(aPacket(8, Buffer.alloc(0)));
    expect(blocksOf(redundancy.wrap(aPacket(9, Buffer.from("third"))))[0]).to.deep.equal({
      payloadType: opus,
      offset: 480,
      payload: Buffer.alloc(400, 2),
    });
  });

  it("continues across the wrap of sequence numbers and timestamps", () => {
    const redundancy = createRedundancy(opus);
    redundancy.wrap(aPacket(0xffff, Buffer.from("last")));
    const first = aPacket(0x10000, Buffer.from("first"));
    expect(blocksOf(redundancy.wrap(first)).map(({ payload }) => payload.toString())).to.deep.equal([
      "last",
      "first",
    ]);
  });

  it("repeats nothing after a gap, or if the previous packet is too old or too long", () => {
    const redundancy = createRedundancy(opus);
    redundancy.wrap(aPacket(1, Buffer.from("1")));
    expect(blocksOf(redundancy.wrap(aPacket(3, Buffer.from("3"))))).to.have.length(1);
    const later = aPacket(4, Buffer.alloc(1_024));
    later.writeUInt32BE(0x20000, 4);
    expect(blocksOf(redundancy.wrap(later))).to.have.length(1);
    const next = aPacket(5, Buffer.from("5"));
    next.writeUInt32BE(0x20000 + 480, 4);
    expect(blocksOf(redundancy.wrap(next))).to.have.length(1);
  });
});
