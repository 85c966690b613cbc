import { expect } from "chai";
import { ArchiveRefused, gameArchiveRules, type ArchiveRules } from "#archive/archiveRules.ts";
import { createArchiveReader } from "#archive/archiveReader.ts";
import { limits } from "#contracts/limits.ts";
import { aTar, paxHeader, type TarEntrySpec } from "#test/factories/tarArchive.ts";

const rules = gameArchiveRules({});

/** Returns the expanded content of the files by path. Throws ArchiveRefused. */
function read(entries: TarEntrySpec[], { by = 512, withRules = rules } = {}): Record<string, string> {
  const files: Record<string, string> = {};
  let current = "";
  const add = (text: string): void => void (files[current] = `${files[current] ?? ""}${text}`);
  const reader = createArchiveReader(withRules, {
    entry({ path }) {
      current = path;
      add("");
    },
    data: (bytes) => add(bytes.toString("latin1")),
    hole: (bytes) => add(".".repeat(bytes)),
  });
  const tar = aTar(entries);
  for (let start = 0; start < tar.length; start += by)
    reader.write(tar.subarray(start, start + by), tar.length);
  reader.finish();
  return files;
}

function rejectionOf(entries: TarEntrySpec[], withRules: ArchiveRules = rules): string {
  try {
    read(entries, { withRules });
  } catch (error) {
    if (error instanceof ArchiveRefused) return error.message;
    throw error;
  }
  throw new Error("The archive was not refused.");
}

const stored = { name: "GNUSparseFile.1/holes", body: "abcd" };
const map = (lines: string): string => lines.padEnd(512, "\0");

/** A file in version 1.0 with this map. */
function version1(size: number, lines: string, body = "abcd"): TarEntrySpec[] {
  const records = {
    "GNU.sparse.major": "1",
    "GNU.sparse.minor": "0",
    "GNU.sparse.name": "holes",
    "GNU.sparse.realsize": String(size),
  };
  return [paxHeader(records), { ...stored, body: `${map(lines)}${body}` }];
}

/** A file in version 0.1 with this map. */
function version01(size: number, segments: string): TarEntrySpec[] {
  const records = { "GNU.sparse.size": String(size), "GNU.sparse.name": "holes", "GNU.sparse.map": segments };
  return [paxHeader(records), stored];
}

describe("a sparse file", () => {
  it("is expanded in every format, however it is split", () => {
    const version0: TarEntrySpec[] = [
      {
        name: "pax",
        type: "x",
        body: "22 GNU.sparse.size=10\n23 GNU.sparse.offset=2\n25 GNU.sparse.numbytes=3\n23 GNU.sparse.offset=6\n25 GNU.sparse.numbytes=1\n",
      },
      { ...stored, name: "holes" },
    ];
    for (const entries of [version0, version01(10, "2,3,6,1"), version1(10, "2\n2\n3\n6\n1\n")])
      for (const by of [1, 7, 512, 4096])
        expect(read([...entries, { name: "next", body: "x" }], { by })).to.deep.equal({
          holes: "..abc.d...",
          next: "x",
        });
    expect(read(version1(5, "0\n", ""))).to.deep.equal({ holes: "....." });
    expect(read(version1(4, "2\n0\n4\n4\n0\n"))).to.deep.equal({ holes: "abcd" });
  });

  it("is refused if its map does not match its content", () => {
    const noMatch = /"holes" is damaged: its sparse map does not match its content/;
    expect(rejectionOf(version01(10, "0,4,2,0"))).to.match(noMatch); // Overlaps.
    expect(rejectionOf(version01(3, "0,4"))).to.match(noMatch);
    expect(rejectionOf(version01(10, "0,3"))).to.match(noMatch);
    expect(rejectionOf(version01(10, "0,5"))).to.match(noMatch);
    expect(rejectionOf(version01(10, "0,4,8"))).to.match(noMatch);
    expect(rejectionOf(version1(10, "1\n7\n4\n"))).to.match(noMatch);
    expect(rejectionOf(version1(10, "3\n0\n4\n", ""))).to.match(/sparse map cannot be read/);
    expect(rejectionOf(version1(10, "x\n"))).to.match(/sparse map cannot be read/);
    expect(rejectionOf(version1(10, `${"1".repeat(17)}\n`))).to.match(/sparse map cannot be read/);
    expect(rejectionOf(version1(10, "100001\n"))).to.match(/more than 100000 segments/);
    expect(rejectionOf([version1(10, "1\n0\n4\n")[0]!, { name: "cut", body: "1" }])).to.match(/cut off/);
  });

  it("is refused if its records cannot be read, or belong to another kind of entry", () => {
    expect(rejectionOf(version01(10, "0,-4"))).to.match(/record GNU.sparse.map cannot be read/);
    expect(rejectionOf([paxHeader({ "GNU.sparse.major": "2" }), stored])).to.match(/GNU.sparse.major/);
    expect(rejectionOf([paxHeader({ "GNU.sparse.other": "2" }), stored])).to.match(/GNU.sparse.other/);
    expect(
      rejectionOf([paxHeader({ "GNU.sparse.name": "../evil", "GNU.sparse.size": "4" }), stored]),
    ).to.match(/has \.\. in its path/);
    expect(rejectionOf([paxHeader({ "GNU.sparse.size": "4" }), { name: "a/" }])).to.match(
      /directory with content/,
    );
  });

  it("counts with its full size towards the limits", () => {
    const small: ArchiveRules = {
      ...rules,
      limits: { ...limits.archive, ratio: 10, ratioFreeBytes: 100_000 },
    };
    expect(rejectionOf(version01(1_000_000, "0,4"), small)).to.match(/more than 10 times its size/);
    const large = { ...rules, limits: { ...limits.archive, unpackedBytes: 999_999 } };
    expect(rejectionOf(version01(1_000_000, "0,4"), large)).to.match(/unpack to more than 999999 bytes/);
    expect(rejectionOf(version01(2 ** 40, "0,4"))).to.match(/unpack/);
  });
});
