import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import {
  pictureFor,
  resourcesFor,
  saveVolumeBytesFor,
} from "#api/gameSessions/launching/buildGameSessionSpec.ts";
import type { GameNeeds } from "#api/gameSessions/launching/launchQueries.ts";

const { volumeBytes } = limits.save;

const empty = { objectKey: null, bytes: null, unpackedBytes: null };

const saved = (bytes: number, unpackedBytes: number | null = null) => ({
  objectKey: "saves/x/1-gs-a-1.tar.gz",
  bytes,
  unpackedBytes,
});

describe("saveVolumeBytesFor", () => {
  it("returns the game's save limit or the default", () => {
    expect(saveVolumeBytesFor(64, empty)).to.equal(64 * mebibyte);
    expect(saveVolumeBytesFor(null, empty)).to.equal(volumeBytes.default);
  });

  it("is at least the size of the slot's save, in whole mebibytes", () => {
    expect(saveVolumeBytesFor(64, saved(1000, 300 * mebibyte + 1))).to.equal(301 * mebibyte);
    expect(saveVolumeBytesFor(64, saved(1000, 64 * mebibyte))).to.equal(64 * mebibyte);
    expect(saveVolumeBytesFor(64, saved(1000, 1))).to.equal(64 * mebibyte);
  });

  it("is generous if the save's unpacked size is unknown", () => {
    expect(saveVolumeBytesFor(16, saved(10))).to.equal(64 * mebibyte);
    expect(saveVolumeBytesFor(16, saved(mebibyte))).to.equal(200 * mebibyte);
    expect(saveVolumeBytesFor(16, saved(200 * mebibyte))).to.equal(1024 * mebibyte);
  });

  it("never exceeds the maximum of a session", () => {
    expect(saveVolumeBytesFor(null, saved(1000, 10 * 2 ** 30))).to.equal(2 * volumeBytes.max);
  });
});

const mebibyte = 2 ** 20;
const nothingDeclared = {
  memoryMb: null,
  cpuMillicores: null,
  gpuShare: null,
  pictureWidth: null,
  pictureHeight: null,
};
const nothingUsed = { cpuMillicores: null, peakMemoryMb: null, highestMemoryMb: null, memoryFloorMb: null };
const site = {
  normal: { memoryMb: 1024, cpuMillicores: 500 },
  most: { memoryMb: 8192, cpuMillicores: 4000, gpuShare: 2, width: 1920, height: 1080 },
  picture: { width: 1920, height: 1080 },
};

function resourcesOf(
  {
    declared = {},
    profile = {},
  }: { declared?: Partial<GameNeeds["declared"]>; profile?: Partial<GameNeeds["profile"]> },
  render: "Gpu" | "Software" = "Software",
) {
  const { memoryBytes, memoryLimitBytes, ...rest } = resourcesFor(
    { declared: { ...nothingDeclared, ...declared }, profile: { ...nothingUsed, ...profile } },
    site,
    render,
  );
  return { ...rest, memoryMb: memoryBytes / mebibyte, limitMb: (memoryLimitBytes ?? 0) / mebibyte };
}

describe("resourcesFor", () => {
  it("returns the site's default for a game without data", () => {
    expect(resourcesOf({})).to.deep.equal({ cpuMillicores: 500, memoryMb: 1024, limitMb: 1024, gpuShare: 1 });
  });

  it("prefers declared resources to measured usage", () => {
    const declared = { memoryMb: 4096, cpuMillicores: 2500 };
    for (const profile of [
      {},
      { cpuMillicores: 100, peakMemoryMb: 200, highestMemoryMb: 300 },
      { cpuMillicores: 4000, peakMemoryMb: 7000, highestMemoryMb: 8000 },
    ]) {
      expect(resourcesOf({ declared, profile })).to.deep.equal({
        cpuMillicores: 2500,
        memoryMb: 4096,
        limitMb: 4096,
        gpuShare: 1,
      });
    }
  });

  it("requests the average usage plus headroom", () => {
    expect(
      resourcesOf({ profile: { cpuMillicores: 800, peakMemoryMb: 1000, highestMemoryMb: 1000 } }),
    ).to.include({ cpuMillicores: 1000, memoryMb: 1250, limitMb: 1500 });
    expect(resourcesOf({ profile: { cpuMillicores: 0, peakMemoryMb: 0 } })).to.include({
      cpuMillicores: limits.resources.cpuMillicores.min,
      memoryMb: limits.resources.memoryMb.min,
    });
  });

  it("limits memory by the highest peak, not by the average", () => {
    expect(resourcesOf({ profile: { peakMemoryMb: 100, highestMemoryMb: 4000 } })).to.include({
      memoryMb: 512,
      limitMb: 6000,
    });
  });

  it("never limits a game below the site's default", () => {
    expect(resourcesOf({ profile: { peakMemoryMb: 100, highestMemoryMb: 100 } })).to.include({
      memoryMb: 512,
      limitMb: 1024,
    });
  });

  it("raises the limit but not the request of a game that ran out of memory, declared or not", () => {
    expect(
      resourcesOf({ profile: { peakMemoryMb: 900, highestMemoryMb: 1000, memoryFloorMb: 2048 } }),
    ).to.include({ memoryMb: 1125, limitMb: 2048 });
    expect(resourcesOf({ declared: { memoryMb: 2000 }, profile: { memoryFloorMb: 4000 } })).to.include({
      memoryMb: 2000,
      limitMb: 4000,
    });
  });

  it("caps resources at the site's maximum, even if declared when that was higher", () => {
    expect(resourcesOf({ declared: { memoryMb: 9000, cpuMillicores: 5000 } })).to.include({
      cpuMillicores: 4000,
      memoryMb: 8192,
      limitMb: 8192,
    });
    expect(
      resourcesOf({
        profile: { cpuMillicores: 1e9, peakMemoryMb: 1e9, highestMemoryMb: 1e9, memoryFloorMb: 1e6 },
      }),
    ).to.include({ cpuMillicores: 4000, memoryMb: 8192, limitMb: 8192 });
  });

  it("returns the declared GPU share up to the site's maximum, and one slot without GPUs", () => {
    expect(resourcesOf({}, "Gpu").gpuShare).to.equal(1);
    expect(resourcesOf({ declared: { gpuShare: 2 } }, "Gpu").gpuShare).to.equal(2);
    expect(resourcesOf({ declared: { gpuShare: 3 } }, "Gpu").gpuShare).to.equal(2);
    expect(resourcesOf({ declared: { gpuShare: 2 } }).gpuShare).to.equal(1);
  });
});

describe("pictureFor", () => {
  const of = (pictureWidth: number | null, pictureHeight: number | null) =>
    pictureFor({ ...nothingDeclared, pictureWidth, pictureHeight }, site);

  it("returns the declared size, or undefined", () => {
    expect(of(1024, 768)).to.deep.equal({ width: 1024, height: 768 });
    expect(of(null, null)).to.equal(undefined);
  });

  it("keeps the aspect ratio when scaling down, with even dimensions", () => {
    expect(of(3840, 2160)).to.deep.equal({ width: 1920, height: 1080 });
    expect(of(1000, 2160)).to.deep.equal({ width: 500, height: 1080 });
    expect(of(2562, 1440)).to.deep.equal({ width: 1920, height: 1078 });
  });
});
