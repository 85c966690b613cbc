import { expect } from "chai";
import { ArchiveRefused, gameArchiveRules, type ArchiveLimits } from "#archive/archiveRules.ts";
import { createArchiveReader } from "#archive/archiveReader.ts";
import { limits } from "#contracts/limits.ts";
import { aTar } from "#test/factories/tarArchive.ts";

const zerosBytes = 10_000;
const tar = aTar([
  { name: "zeros", body: Buffer.alloc(zerosBytes) },
  { name: "noise", body: Buffer.alloc(1000) },
]);
/** Minimum packed size of the rest if the ratio is ten. */
const enough = tar.length / 10;

interface Packing {
  /** Packed size of everything except the zeros, which take ten bytes. */
  rest: number;
  packedTotal?: number;
  /** Number of archive bytes to write. Defaults to all. */
  upTo?: number;
  changes?: Partial<ArchiveLimits>;
}

/** Reads the archive block by block. Returns the number of entries, or the violated rule. */
function read({ rest, packedTotal, upTo = tar.length, changes }: Packing): number | string {
  const rules = {
    ...gameArchiveRules({}),
    limits: { ...limits.archive, ratio: 10, ratioFreeBytes: 100, ratioAheadBytes: 20_000, ...changes },
  };
  const reader = createArchiveReader(rules, {}, packedTotal);
  try {
    for (let start = 0; start < upTo; start += 512)
      reader.write(tar.subarray(start, start + 512), start < zerosBytes ? 10 : 10 + rest);
    return upTo < tar.length ? 0 : reader.finish().entries;
  } catch (error) {
    if (error instanceof ArchiveRefused) return error.rule;
    throw error;
  }
}

describe("the ratio of an archive that starts with highly compressible data", () => {
  const tooMuch = "unpacks to more than 10 times its size";

  it("uses the total size if it is known", () => {
    expect(read({ rest: enough, packedTotal: 10 + enough })).to.equal(2);
    expect(read({ rest: 1000, packedTotal: 1010 })).to.equal(tooMuch);
  });

  it("is rejected long before the end if the total size is known", () => {
    expect(read({ rest: 0, packedTotal: 100, upTo: 2048 })).to.equal(tooMuch);
  });

  it("is checked at the end if the total size is unknown", () => {
    expect(read({ rest: enough })).to.equal(2);
    expect(read({ rest: 1000 })).to.equal(tooMuch);
  });

  it("is also limited before the end if the total size is unknown", () => {
    expect(read({ rest: enough, upTo: 6144, changes: { ratioAheadBytes: 5000 } })).to.match(
      /^starts with data that unpacks to far more than 10 times its size: .*Content-Length/,
    );
  });

  it("does not matter to a small archive", () => {
    expect(read({ rest: 0, packedTotal: 10, changes: { ratioFreeBytes: tar.length } })).to.equal(2);
  });
});
