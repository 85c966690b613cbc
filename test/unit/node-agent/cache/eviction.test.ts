import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { chooseRelief, chooseVictims, type Evictable, reserveBytes } from "#node-agent/cache/cacheRoom.ts";

function aVersion(digest: string, overrides: Partial<Evictable> = {}): Evictable {
  return {
    digest,
    bytes: 10,
    occupiedBytes: 10,
    priority: 0,
    isPinned: false,
    lastUsedMs: 0,
    isInUse: false,
    ...overrides,
  };
}

const launch = (bytes: number) => ({ bytes, priority: undefined });
const fill = (bytes: number, priority: number) => ({ bytes, priority });
const room = (usedBytes: number, budgetBytes = 100, diskFreeBytes = 2 ** 40, freeFiles = 1000) => ({
  usedBytes,
  budgetBytes,
  diskFreeBytes,
  freeFiles,
});
const digests = (victims: Evictable[] | undefined): string[] | undefined =>
  victims?.map(({ digest }) => digest);

describe("chooseVictims", () => {
  it("evicts nothing below the high watermark", () => {
    expect(chooseVictims([aVersion("a", { priority: undefined })], launch(10), room(80))).to.deep.equal([]);
  });

  it("evicts games that no policy wants first, then lower priority, then the least recently used", () => {
    const versions = [
      aVersion("late", { lastUsedMs: 9 }),
      aVersion("early", { lastUsedMs: 1 }),
      aVersion("high", { priority: 9 }),
      aVersion("unwanted", { priority: undefined, lastUsedMs: 99 }),
    ];
    expect(digests(chooseVictims(versions, launch(10), room(100)))).to.deep.equal(["unwanted"]);
    expect(digests(chooseVictims(versions, launch(30), room(100)))).to.deep.equal([
      "unwanted",
      "early",
      "late",
    ]);
    expect(digests(chooseVictims(versions, launch(40), room(100)))).to.deep.equal([
      "unwanted",
      "early",
      "late",
      "high",
    ]);
  });

  it("frees down to the low watermark only with games that no policy wants", () => {
    const versions = [
      aVersion("a", { priority: undefined }),
      aVersion("b", { priority: undefined }),
      aVersion("c", { priority: undefined }),
      aVersion("wanted"),
    ];
    expect(digests(chooseVictims(versions, launch(5), room(96)))).to.deep.equal(["a", "b", "c"]);
    expect(digests(chooseVictims([aVersion("wanted")], launch(5), room(90)))).to.deep.equal([]);
  });

  it("never evicts games in use or pinned, and returns undefined if that is not enough", () => {
    const versions = [
      aVersion("used", { isInUse: true, priority: undefined }),
      aVersion("pinned", { isPinned: true }),
    ];
    expect(chooseVictims(versions, launch(50), room(60))).to.equal(undefined);
  });

  it("evicts for a fill only games of lower priority", () => {
    const versions = [aVersion("equal", { priority: 5 }), aVersion("less", { priority: 4 })];
    expect(digests(chooseVictims(versions, fill(10, 5), room(100)))).to.deep.equal(["less"]);
    expect(chooseVictims(versions, fill(20, 5), room(100))).to.equal(undefined);
  });

  it("respects the file system's free space in addition to the budget", () => {
    const versions = [aVersion("a")];
    expect(digests(chooseVictims(versions, launch(10), room(10, 2 ** 40, reserveBytes + 5)))).to.deep.equal([
      "a",
    ]);
    expect(chooseVictims(versions, launch(30), room(10, 2 ** 40, reserveBytes + 5))).to.equal(undefined);
  });

  it("counts a version's maximum usage for the budget and its guaranteed size for the disk", () => {
    const versions = [
      aVersion("small files", { bytes: 1, occupiedBytes: 10 }),
      aVersion("late", { lastUsedMs: 9 }),
    ];
    expect(digests(chooseVictims(versions, launch(10), room(100)))).to.deep.equal(["small files"]);
    expect(digests(chooseVictims(versions, launch(10), room(10, 2 ** 40, reserveBytes + 5)))).to.deep.equal([
      "small files",
      "late",
    ]);
    expect(chooseVictims(versions.slice(0, 1), launch(10), room(10, 2 ** 40, reserveBytes + 5))).to.equal(
      undefined,
    );
  });

  it("reserves space for saves when it makes room for a fill", () => {
    const { enoughFreeBytes } = limits.node;
    expect(chooseVictims([], fill(10, 5), room(10, 2 ** 40, enoughFreeBytes + 10))).to.deep.equal([]);
    expect(chooseVictims([], fill(10, 5), room(10, 2 ** 40, enoughFreeBytes + 9))).to.equal(undefined);
    expect(chooseVictims([], launch(10), room(10, 2 ** 40, enoughFreeBytes + 9))).to.deep.equal([]);
  });

  it("evicts one version, if possible, after the disk was full despite enough bytes", () => {
    const again = { ...launch(10), ranOut: true };
    expect(
      digests(chooseVictims([aVersion("late", { lastUsedMs: 9 }), aVersion("early")], again, room(20))),
    ).to.deep.equal(["early"]);
    expect(chooseVictims([aVersion("pinned", { isPinned: true })], again, room(20))).to.deep.equal([]);
  });

  it("refuses a fill, but not a launch, that ran out of inodes until there are more or a version is evictable", () => {
    const again = { ranOut: true, tooFewFiles: 1000 };
    expect(
      chooseVictims([aVersion("equal", { priority: 5 })], { ...fill(10, 5), ...again }, room(20)),
    ).to.equal(undefined);
    expect(chooseVictims([], { ...fill(10, 5), ...again }, room(20, 100, 2 ** 40, 1001))).to.deep.equal([]);
    expect(
      digests(chooseVictims([aVersion("less", { priority: 4 })], { ...fill(10, 5), ...again }, room(20))),
    ).to.deep.equal(["less"]);
    expect(chooseVictims([], { ...launch(10), ...again }, room(20))).to.deep.equal([]);
  });
});

describe("chooseRelief", () => {
  const versions = [
    aVersion("wanted", { priority: 5 }),
    aVersion("pinned", { isPinned: true }),
    aVersion("used", { isInUse: true }),
    aVersion("unwanted", { priority: undefined }),
  ];

  it("evicts the least valuable versions until there is enough space, never those in use or pinned", () => {
    expect(digests(chooseRelief(versions, 10))).to.deep.equal(["unwanted"]);
    expect(digests(chooseRelief(versions, 11))).to.deep.equal(["unwanted", "wanted"]);
    expect(digests(chooseRelief(versions, 1000))).to.deep.equal(["unwanted", "wanted"]);
  });

  it("evicts one version if bytes suffice, because inodes may be lacking", () => {
    expect(digests(chooseRelief(versions, 0))).to.deep.equal(["unwanted"]);
  });
});
