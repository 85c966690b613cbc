import { expect } from "chai";
import { isHeard, PictureMeter } from "#streamer/verification/meters.ts";

const black = Buffer.alloc(1000, 16);
const drawn = (at: number, pixels = 100): Buffer => Buffer.from(black).fill(200, at, at + pixels);

describe("PictureMeter", () => {
  it("counts pictures that differ from the one before", () => {
    const meter = new PictureMeter();
    for (const picture of [black, drawn(1), drawn(1), drawn(2), black]) meter.add(picture);
    expect(meter.take().changes).to.equal(3);
    expect(meter.take().changes).to.equal(0);
  });

  it("takes a picture of nearly one brightness for plain", () => {
    const meter = new PictureMeter();
    meter.add(black);
    expect(meter.take().isPlain).to.equal(true);
    meter.add(drawn(7, 20));
    expect(meter.take().isPlain, "with a pointer").to.equal(true);
    meter.add(drawn(7));
    expect(meter.take().isPlain).to.equal(false);
  });
});

describe("isHeard", () => {
  it("ignores the noise of a silent sound card", () => {
    const samples = Buffer.alloc(8);
    samples.writeInt16LE(-20, 2);
    expect(isHeard(samples)).to.equal(false);
    samples.writeInt16LE(-900, 4);
    expect(isHeard(samples)).to.equal(true);
  });
});
