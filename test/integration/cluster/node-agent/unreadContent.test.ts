import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import { contentDirectory, objectDirectory } from "#contracts/nodeLayout.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import {
  beforeEachWithContentCaches,
  isReady,
  type ContentCacheFixture,
} from "#test/support/fixtures/contentCacheFixture.ts";

describe("ContentCache with a manifest that is unreadable at startup", function () {
  this.timeout(60_000);
  let fixture: ContentCacheFixture;
  let source: ArchiveSource;
  let manifest: string;

  // Before the folder with the mount is removed. Once the disk is readable nothing is mounted any more.
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
    // Reading unmapped memory fails with EIO, like a disk fault.
    execFileSync("mount", ["--bind", `/proc/${process.pid}/mem`, manifest]);
  });

  const inode = (): number => statSync(`${contentDirectory(fixture.root, source.sha256)}/run.sh`).ino;

  it("keeps the content, and recovers it when the game is wanted", async () => {
    const before = inode();
    const cache = await fixture.aCache();
    expect(cache.stateOf(source.sha256)).to.equal(undefined);
    expect(inode()).to.equal(before);
    execFileSync("umount", [manifest]);
    cache.demand("gs-2", source);
    await isReady(cache, source);
    expect(inode()).to.equal(before);
    expect((await cache.report()).entries[0]).to.include({
      digest: source.sha256,
      state: "Ready",
      bytes: 3_000_010,
    });
    expect(fixture.getsOf(source), "downloads").to.have.length(1);
  });

  it("keeps the content, which games may have mounted, instead of the version that is fetched because it is still unreadable", async () => {
    const before = inode();
    const cache = await fixture.aCache();
    cache.demand("gs-2", source);
    await isReady(cache, source);
    expect(fixture.getsOf(source), "downloads").to.have.length(2);
    expect(inode()).to.equal(before);
    expect(fixture.temporary()).to.deep.equal([]);
  });
});

describe("ContentCache with a folder that cannot be removed", function () {
  this.timeout(60_000);
  let fixture: ContentCacheFixture;
  /** A folder that can be moved but not removed, because something is mounted below it. */
  let stuck: string;

  // Before the folder that contains it is removed.
  afterEach(() => void spawnSync("umount", [mounted()]));
  beforeEachWithContentCaches((fresh) => {
    fixture = fresh;
  });

  const mountOn = (folder: string): void => {
    stuck = folder;
    mkdirSync(join(folder, "over"), { recursive: true });
    execFileSync("mount", ["-t", "tmpfs", "tmpfs", join(folder, "over")]);
  };

  /** Returns the current path of the mount. */
  function mounted(): string {
    return (
      [stuck, ...fixture.trash().map((name) => join(fixture.root, "v1/trash", name))]
        .flatMap((folder) => [join(folder, "over"), join(folder, "content/over")])
        .find((path) => existsSync(path)) ?? stuck
    );
  }

  const isTrashEmpty = (): Promise<unknown> =>
    eventually(() => fixture.trash().length === 0, { timeoutMs: 40_000, what: "it to be removed" });

  it("starts with such a leftover folder, and removes it once the disk allows it", async () => {
    mountOn(join(fixture.root, "v1/tmp/left"));
    const cache = await fixture.aCache();
    expect(fixture.temporary()).to.deep.equal([]);
    const source = await fixture.aGame();
    cache.demand("gs-1", source);
    await isReady(cache, source);
    execFileSync("umount", [mounted()]);
    await isTrashEmpty();
  });

  it("evicts the game with the folder, and starts the next one once the rest has freed the space", async () => {
    const [first, second] = [await fixture.aGame(), await fixture.aGame()];
    const earlier = await fixture.aCache({ budgetBytes: 4_000_000 });
    earlier.demand("gs-1", first);
    await isReady(earlier, first);
    mountOn(join(objectDirectory(fixture.root, first.sha256), "content"));
    await fixture.files.markUsed(first.sha256, new Date(Date.now() - 3_600_000));
    const cache = await fixture.aCache({ budgetBytes: 4_000_000 });
    cache.demand("gs-2", second);
    await isReady(cache, second);
    expect(cache.stateOf(first.sha256)).to.equal(undefined);
    execFileSync("umount", [mounted()]);
    await isTrashEmpty();
  });
});
