import { expect } from "chai";
import type { CacheEntry } from "#contracts/crd/gameNode.ts";
import { limits } from "#contracts/limits.ts";
import { entriesToReport, unpackedEntry, wantedEntry } from "#node-agent/cache/contentState.ts";

const most = limits.node.cacheEntriesReported;
const aVersion = (digest: string, lastUsedMs: number, inUse = false): CacheEntry =>
  unpackedEntry({ digest, bytes: 1, occupiedBytes: 4097, cachedAt: new Date(0), lastUsedMs }, inUse);
const idle = Array.from({ length: most + 10 }, (_, index) => aVersion(`idle-${index}`, index * 1000));
const digestsOf = (entries: CacheEntry[]): string[] => entries.map(({ digest }) => digest);

describe("entriesToReport", () => {
  it("omits the least recently used versions if not all fit", () => {
    expect(digestsOf(entriesToReport(idle, () => false)))
      .to.have.length(most)
      .and.not.include.members(digestsOf(idle.slice(0, 10)));
  });

  it("keeps versions that sessions wait for or policies want", () => {
    const wanted = [
      aVersion("desired", 0),
      aVersion("in use", 0, true),
      wantedEntry("to be fetched", undefined, false),
    ];
    const reported = digestsOf(
      entriesToReport([...idle, ...wanted], (digest) => ["desired", "to be fetched"].includes(digest)),
    );
    expect(reported).to.have.length(most);
    expect(reported).to.include.members(["in use", "desired", "to be fetched"]);
  });

  it("keeps the order when a version is played", () => {
    const before = [aVersion("a", 2000), aVersion("b", 1000)];
    const after = [aVersion("a", 2000), aVersion("b", 3000, true)];
    expect(digestsOf(entriesToReport(after, () => false))).to.deep.equal(
      digestsOf(entriesToReport(before, () => false)),
    );
  });
});
