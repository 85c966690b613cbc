import { expect } from "chai";
import { isSavePicture } from "#archive/savePicture.ts";
import { limits } from "#contracts/limits.ts";
import { aJpeg, aPng, aSavePicture, segment } from "#test/factories/pictures.ts";

describe("isSavePicture", () => {
  it("accepts a small baseline JPEG", () => {
    expect(isSavePicture(aSavePicture())).to.equal(true);
    expect(isSavePicture(aSavePicture({ width: 1, height: 1 }))).to.equal(true);
    expect(isSavePicture(aSavePicture({ scan: "12ff0034ffd056" })), "with stuffing and restarts").to.equal(
      true,
    );
  });

  const whole = aSavePicture();
  const refused: [what: string, bytes: Buffer][] = [
    ["nothing", Buffer.alloc(0)],
    ["a page", Buffer.from("<!doctype html><script>alert(1)</script>")],
    ["a PNG", aPng()],
    ["a truncated picture", whole.subarray(0, -1)],
    ["a picture with anything behind it", Buffer.concat([whole, Buffer.from("x")])],
    ["a comment", aSavePicture({ extra: segment(0xfe, Buffer.from("<script>")) })],
    ["EXIF data", aSavePicture({ extra: segment(0xe1, Buffer.from("Exif")) })],
    ["a second frame", aSavePicture({ extra: segment(0xc0, Buffer.alloc(15)) })],
    ["a progressive JPEG", aSavePicture({ frame: 0xc2 })],
    ["a JPEG without a complete JFIF header", aJpeg({ frame: 0xc0 })],
    ["another marker in the scan", aSavePicture({ scan: "12ffe03456" })],
    ["a picture that is too wide", aSavePicture({ width: limits.save.picture.width + 1 })],
    ["a picture that is too high", aSavePicture({ height: limits.save.picture.height + 1 })],
    ["a picture without a side", aSavePicture({ height: 0 })],
    ["a picture of too many bytes", aSavePicture({ scan: "12".repeat(limits.save.picture.bytes) })],
    ["a segment beyond the end", Buffer.concat([whole.subarray(0, 22), Buffer.from("ffc4ffff", "hex")])],
  ];
  for (const [what, bytes] of refused)
    it(`refuses ${what}`, () => expect(isSavePicture(bytes)).to.equal(false));
});
