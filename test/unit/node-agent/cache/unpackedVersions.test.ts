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
});
