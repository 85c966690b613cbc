import { expect } from "chai";
import { createObjectFiles } from "#node-agent/cache/objectFiles.ts";
import { UnpackedVersions } from "#node-agent/cache/unpackedVersions.ts";
import { nodePaths } from "#node-agent/disk/nodePaths.ts";
import { JumpClock } from "#test/support/clocks/jumpClock.ts";

describe("UnpackedVersions", () => {
  it("counts a version as recently used for a minute, and not until a clock that was put back has caught up", () => {
    const clock = new JumpClock();
    const versions = new UnpackedVersions(createObjectFiles(nodePaths("/nowhere")), clock);
    versions.add("played", 1, clock.now());
    expect(versions.recentlyUsed()).to.deep.equal(["played"]);
    clock.skewMs = -3_600_000;
    expect(versions.recentlyUsed()).to.deep.equal([]);
    clock.skewMs = 61_000;
    expect(versions.recentlyUsed()).to.deep.equal([]);
  });

  it("does not count a version as used later than now, so that what is played since a clock was put back is worth no less", () => {
    const clock = new JumpClock();
    const versions = new UnpackedVersions(createObjectFiles(nodePaths("/nowhere")), clock);
    versions.add("played", 1, clock.now());
    clock.skewMs = -3_600_000;
    const [lastUsedMs] = versions.list().map((version) => version.lastUsedMs);
    expect(lastUsedMs).to.be.at.most(clock.now().getTime());
    clock.jump(5_000);
    expect(versions.list().map((version) => version.lastUsedMs), "the same at each look").to.deep.equal([lastUsedMs]);
    expect(versions.recentlyUsed()).to.deep.equal([]);
  });
});
