import { execFileSync, spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { expect } from "chai";
import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import { contentDirectory, objectDirectory } from "#contracts/nodeLayout.ts";
import { beforeEachWithContentCaches, isReady, type ContentCacheFixture } from "#test/support/fixtures/contentCacheFixture.ts";

describe("ContentCache, given a game whose manifest the disk does not read at the start", function () {
  this.timeout(60_000);
  let fixture: ContentCacheFixture;
  let source: ArchiveSource;
  let manifest: string;

  // Before the folder that it is mounted in goes; nothing is mounted any more where the disk reads again.
  afterEach(() => void spawnSync("umount", [manifest]));
  beforeEachWithContentCaches((fresh) => {
    fixture = fresh;
  });

  beforeEach(async () => {
    source = await fixture.aGame();
    const earlier = await fixture.aCache();
    earlier.demand("gs-1", source);
    await isReady(earlier, source);
    manifest = `${objectDirectory(fixture.root, source.sha256)}/manifest.json`;
    // To read memory where there is none fails as a disk does: by EIO.
    execFileSync("mount", ["--bind", `/proc/${process.pid}/mem`, manifest]);
  });

  const inode = (): number => statSync(`${contentDirectory(fixture.root, source.sha256)}/run.sh`).ino;

  it("leaves its content where it is, and finds it again when the game is wanted", async () => {
    const before = inode();
    const cache = await fixture.aCache();
    expect(cache.stateOf(source.sha256)).to.equal(undefined);
    expect(inode()).to.equal(before);
    execFileSync("umount", [manifest]);
    cache.demand("gs-2", source);
    await isReady(cache, source);
    expect(inode()).to.equal(before);
    expect((await cache.report()).entries[0]).to.include({ digest: source.sha256, state: "Ready", bytes: 3_000_010 });
    expect(fixture.getsOf(source), "downloads").to.have.length(1);
  });

  it("keeps its content, which games may have mounted, in the place of what is fetched because it is still not read", async () => {
    const before = inode();
    const cache = await fixture.aCache();
    cache.demand("gs-2", source);
    await isReady(cache, source);
    expect(fixture.getsOf(source), "downloads").to.have.length(2);
    expect(inode()).to.equal(before);
    expect(fixture.temporary()).to.deep.equal([]);
  });
});
