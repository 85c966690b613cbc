import { expect } from "chai";
import { chooseDownloads, type Wanted } from "#node-agent/cache/wantedVersions.ts";
import { anArchiveSource } from "#test/factories/gameCache.ts";

const fill = (digest: string, priority = 0): Wanted => ({
  digest,
  source: anArchiveSource(),
  isForLaunch: false,
  priority,
  isPinned: false,
});
const launch = (digest: string): Wanted => ({ ...fill(digest), isForLaunch: true });
const chosen = (...parameters: Parameters<typeof chooseDownloads>): string[] =>
  chooseDownloads(...parameters).map(({ digest }) => digest);

describe("chooseDownloads", () => {
  it("starts one fill, the highest priority first", () => {
    expect(chosen([fill("a", 1), fill("b", 3), fill("c", 2)], [])).to.deep.equal(["b"]);
    expect(chosen([fill("a")], [{ digest: "b", isForLaunch: false }])).to.deep.equal([]);
  });

  it("starts the fill of a pinned game before others of the same priority", () => {
    expect(chosen([fill("a"), { ...fill("b"), isPinned: true }, fill("c")], [])).to.deep.equal(["b"]);
    expect(chosen([fill("a", 1), { ...fill("b"), isPinned: true }], [])).to.deep.equal(["a"]);
  });

  it("starts launches during a fill, but no fill during a launch", () => {
    expect(chosen([fill("a"), launch("b")], [{ digest: "c", isForLaunch: false }])).to.deep.equal(["b"]);
    expect(chosen([fill("a", 9), launch("b")], [])).to.deep.equal(["b"]);
    expect(chosen([fill("a")], [{ digest: "b", isForLaunch: true }])).to.deep.equal([]);
  });

  it("starts no download twice, and at most four launches", () => {
    expect(chosen([launch("a")], [{ digest: "a", isForLaunch: true }])).to.deep.equal([]);
    expect(chosen(["a", "b", "c", "d", "e"].map(launch), [{ digest: "x", isForLaunch: true }])).to.deep.equal(
      ["a", "b", "c"],
    );
  });
});
