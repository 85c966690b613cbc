import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { saveVolumeBytesFor } from "#api/gameSessions/saveVolume.ts";

const mebibyte = 2 ** 20;
const { volumeBytes } = limits.save;
const empty = { objectKey: null, bytes: null, unpackedBytes: null };
const saved = (bytes: number, unpackedBytes: number | null = null) => ({
  objectKey: "saves/x/1-gs-a-1.tar.gz",
  bytes,
  unpackedBytes,
});

describe("saveVolumeBytesFor", () => {
  it("is the game's save limit, or the default", () => {
    expect(saveVolumeBytesFor(64, empty)).to.equal(64 * mebibyte);
    expect(saveVolumeBytesFor(null, empty)).to.equal(volumeBytes.default);
  });

  it("is never below the size of the slot's save, in whole mebibytes", () => {
    expect(saveVolumeBytesFor(64, saved(1000, 300 * mebibyte + 1))).to.equal(301 * mebibyte);
    expect(saveVolumeBytesFor(64, saved(1000, 64 * mebibyte))).to.equal(64 * mebibyte);
    expect(saveVolumeBytesFor(64, saved(1000, 1))).to.equal(64 * mebibyte);
  });

  it("has much room for a save whose unpacked size is unknown", () => {
    expect(saveVolumeBytesFor(16, saved(10))).to.equal(64 * mebibyte);
    expect(saveVolumeBytesFor(16, saved(mebibyte))).to.equal(200 * mebibyte);
    expect(saveVolumeBytesFor(16, saved(200 * mebibyte))).to.equal(1024 * mebibyte);
  });

  it("stays within the maximum of a session, whatever the save's size", () => {
    expect(saveVolumeBytesFor(null, saved(1000, 10 * 2 ** 30))).to.equal(2 * volumeBytes.max);
  });
});
