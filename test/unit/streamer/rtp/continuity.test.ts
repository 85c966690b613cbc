import { expect } from "chai";
import { createContinuity } from "#streamer/rtp/continuity.ts";

function packet(sequence: number, timestamp: number): Buffer {
  const buffer = Buffer.alloc(12);
  buffer.writeUInt16BE(sequence, 2);
  buffer.writeUInt32BE(timestamp, 4);
  return buffer;
}

const numbers = (buffer: Buffer) => [buffer.readUInt16BE(2), buffer.readUInt32BE(4)];

describe("createContinuity", () => {
  let now = 0;
  const apply = (continuity: ReturnType<typeof createContinuity>, sequence: number, timestamp: number) => {
    const buffer = packet(sequence, timestamp);
    continuity.apply(buffer);
    return numbers(buffer);
  };

  beforeEach(() => {
    now = 0;
  });

  it("keeps the sequence numbers and timestamps of the first encoder", () => {
    const continuity = createContinuity(90_000, { monotonicMs: () => now });
    expect(apply(continuity, 7, 1_000)).to.deep.equal([7, 1_000]);
    expect(apply(continuity, 8, 2_500)).to.deep.equal([8, 2_500]);
  });

  it("numbers a new encoder's packets after the old ones, with timestamps advanced by the time passed", () => {
    const continuity = createContinuity(90_000, { monotonicMs: () => now });
    apply(continuity, 100, 5_000);
    now = 500;
    continuity.restart();
    expect(apply(continuity, 40_000, 999_999)).to.deep.equal([101, 5_000 + 45_000]);
    expect(apply(continuity, 40_001, 999_999 + 1_500)).to.deep.equal([102, 5_000 + 46_500]);
  });

  it("wraps sequence numbers and timestamps over several restarts", () => {
    const continuity = createContinuity(90_000, { monotonicMs: () => now });
    apply(continuity, 65_535, 0xffff_ffff);
    continuity.restart();
    expect(apply(continuity, 12, 12)).to.deep.equal([0, 0xffff_ffff]);
    now = 10;
    continuity.restart();
    expect(apply(continuity, 500, 0)).to.deep.equal([1, 899]);
  });

  it("keeps gaps in an encoder's sequence numbers, which are losses to repair", () => {
    const continuity = createContinuity(90_000, { monotonicMs: () => now });
    apply(continuity, 10, 0);
    continuity.restart();
    apply(continuity, 50, 0);
    expect(apply(continuity, 53, 0)[0]).to.equal(14);
  });
});
