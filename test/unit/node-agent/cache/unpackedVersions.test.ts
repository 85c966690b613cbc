import { expect } from "chai";
import { createObjectFiles, type Manifest } from "#node-agent/cache/objectFiles.ts";
import { UnpackedVersions } from "#node-agent/cache/unpackedVersions.ts";
import { nodePaths } from "#node-agent/disk/nodePaths.ts";
import { TreeRemover } from "#node-agent/disk/treeRemover.ts";
import { silentLogger } from "#runtime/logger.ts";
import { JumpClock } from "#test/support/clocks/jumpClock.ts";

function aManifest(digest: string, clock: JumpClock, overrides: Partial<Manifest> = {}): Manifest {
  return {
    version: 1,
    digest,
    packedBytes: 1,
    unpackedBytes: 1,
    entries: 1,
    cachedAt: clock.now().toISOString(),
    ...overrides,
  };
}

/** Returns versions of a disk that is never read. */
function someVersions(clock: JumpClock): UnpackedVersions {
  const paths = nodePaths("/nowhere");
  return new UnpackedVersions(
    createObjectFiles(
      paths,
      new TreeRemover({ trash: paths.trash, clock, random: () => 0, logger: silentLogger }),
    ),
    clock,
  );
}

describe("UnpackedVersions", () => {
  it("adds a block per file and folder to the disk usage, and reports the bytes of the files", () => {
    const clock = new JumpClock();
    const versions = someVersions(clock);
    versions.add(aManifest("small files", clock, { unpackedBytes: 200_000, entries: 200_000 }));
    versions.add(aManifest("a large file", clock, { unpackedBytes: 10_000_000 }));
    expect(versions.list().map(({ bytes }) => bytes)).to.deep.equal([200_000, 10_000_000]);
    expect(versions.occupiedBytes).to.equal(200_000 + 200_000 * 4096 + 10_000_000 + 4096);
  });

  it("treats a version as recently used for a minute, even if the clock was set back", () => {
    const clock = new JumpClock();
    const versions = someVersions(clock);
    versions.add(aManifest("played", clock));
    expect(versions.recentlyUsed()).to.deep.equal(["played"]);
    clock.skewMs = -3_600_000;
    expect(versions.recentlyUsed()).to.deep.equal([]);
    clock.skewMs = 61_000;
    expect(versions.recentlyUsed()).to.deep.equal([]);
  });

  it("corrects last-used times in the future after the clock was set back", () => {
    const clock = new JumpClock();
    const versions = someVersions(clock);
    versions.add(aManifest("played", clock));
    clock.skewMs = -3_600_000;
    const [lastUsedMs] = versions.list().map((version) => version.lastUsedMs);
    expect(lastUsedMs).to.be.at.most(clock.now().getTime());
    clock.jump(5_000);
    expect(
      versions.list().map((version) => version.lastUsedMs),
      "the same at each look",
    ).to.deep.equal([lastUsedMs]);
    expect(versions.recentlyUsed()).to.deep.equal([]);
  });
});
