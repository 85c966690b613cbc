import { expect } from "chai";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  ArchiveRefused,
  acceptedArchiveRules,
  gameArchiveRules,
  saveArchiveRules,
  storedSaveRules,
  type ArchiveRules,
} from "#archive/archiveRules.ts";
import { createArchiveReader } from "#archive/archiveReader.ts";
import { limits } from "#contracts/limits.ts";
import { aGameTar, aTar, paxHeader, tarEntry, type TarEntrySpec } from "#test/factories/tarArchive.ts";

const rules = gameArchiveRules({});

/** Accepted content: `path` for a directory and `path=content` for a file. */
function read(
  tar: Buffer,
  { by = tar.length, withRules = rules }: { by?: number; withRules?: ArchiveRules } = {},
): string[] {
  const seen: string[] = [];
  let content: string | undefined;
  const reader = createArchiveReader(withRules, {
    entry({ path, isDirectory, isExecutable }) {
      content = undefined;
      seen.push(`${path}${isExecutable && !isDirectory ? "*" : ""}`);
      if (!isDirectory) content = "";
    },
    data(bytes) {
      if (content !== undefined) content += bytes.toString("latin1");
    },
    endEntry() {
      if (content !== undefined) seen.push(`${seen.pop() ?? ""}=${content}`);
    },
  });
  for (let start = 0; start < tar.length; start += by)
    reader.write(tar.subarray(start, start + by), tar.length);
  reader.finish();
  return seen;
}

function rejectionOf(tar: Buffer, options: Parameters<typeof read>[1] = {}): ArchiveRefused {
  try {
    read(tar, options);
  } catch (error) {
    if (error instanceof ArchiveRefused) return error;
    throw error;
  }
  throw new Error("The archive was not refused.");
}

/**
 * Reads an archive with these blocks and one more file, block by block to save memory. Returns the number of
 * entries.
 */
function entriesOfFlood(blocks: Iterable<Buffer>, withRules: ArchiveRules): number {
  const reader = createArchiveReader(withRules);
  for (const block of blocks) reader.write(block, Number.MAX_SAFE_INTEGER);
  reader.write(aTar([file("last")]), Number.MAX_SAFE_INTEGER);
  return reader.finish().entries;
}

function rejectionOfFlood(blocks: Iterable<Buffer>, withRules: ArchiveRules): ArchiveRefused {
  try {
    entriesOfFlood(blocks, withRules);
  } catch (error) {
    if (error instanceof ArchiveRefused) return error;
    throw error;
  }
  throw new Error("The archive was not refused.");
}

function* repeated(count: number, block: (at: number) => Buffer): Generator<Buffer, void, void> {
  for (let at = 0; at < count; at += 1) yield block(at);
}

/** Returns the bytes of the heap in use after garbage collection. */
function heapInUse(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc()");
  return process.memoryUsage().heapUsed;
}

const file = (name: string, body = "x"): TarEntrySpec => ({ name, body });

describe("createArchiveReader", () => {
  const whole = aTar([
    { name: "./" },
    { name: "./run.sh", body: "#!/bin/sh\n", mode: 0o755 },
    { name: "./engine/" },
    { name: "./engine/a.bin", body: "b".repeat(1500) },
    { name: "empty" },
  ]);
  const content = ["run.sh*=#!/bin/sh\n", "engine", `engine/a.bin=${"b".repeat(1500)}`, "empty="];

  for (const by of [1, 7, 511, 512, 513, 4096, whole.length]) {
    it(`returns files and directories when written ${by} bytes at a time`, () =>
      expect(read(whole, { by })).to.deep.equal(content));
  }

  it("reads names from GNU long names, POSIX prefixes and extended headers", () => {
    const long = `${"d".repeat(120)}/${"f".repeat(90)}`;
    expect(
      read(
        aTar([
          { name: "././@LongLink", type: "L", body: `${long}\0`, magic: "ustar  \0" },
          { ...file("cut"), magic: "ustar  \0" },
        ]),
      ),
    ).to.deep.equal([`${long}=x`]);
    expect(read(aTar([{ ...file("name"), prefix: "folder" }]))).to.deep.equal(["folder/name=x"]);
    expect(read(aTar([paxHeader({ path: "größe/ä", mtime: "12.5" }), file("other")]))).to.deep.equal([
      "größe/ä=x",
    ]);
  });

  it("accepts files from before 1970 with the time 1970", () => {
    const times: number[] = [];
    const reader = createArchiveReader(rules, { entry: ({ mtimeSeconds }) => times.push(mtimeSeconds) });
    const tar = aTar([
      { ...file("gnu"), mtimeSeconds: -43_200, numbers: "base256", magic: "ustar  \0" },
      paxHeader({ mtime: "-43200.5" }),
      file("pax"),
    ]);
    reader.write(tar, tar.length);
    reader.finish();
    expect(times).to.deep.equal([0, 0]);
  });

  it("reads empty numbers as 0, and refuses content without a size", () => {
    expect(read(aTar([{ name: "a/", numbers: "empty" }, file("a/b")]))).to.deep.equal(["a", "a/b=x"]);
    expect(read(aTar([{ ...file("a", ""), numbers: "empty" }]))).to.deep.equal(["a="]);
    expect(rejectionOf(aTar([{ ...file("a"), numbers: "empty" }])).message).to.match(/checksum is wrong/);
  });

  it("accepts the comment that git writes to a global header", () => {
    expect(read(aTar([paxHeader({ comment: "0123abcd" }, "g"), file("a")]))).to.deep.equal(["a=x"]);
  });

  it("accepts a directory that is listed after a file in it", () => {
    expect(read(aTar([file("a/b"), { name: "a/" }]))).to.deep.equal(["a/b=x", "a"]);
  });

  const hostile: [title: string, entries: TarEntrySpec[], rule: RegExp, entry: string | undefined][] = [
    ["a symbolic link", [{ name: "link", type: "2", linkName: "/etc/passwd" }], /is a symbolic link/, "link"],
    ["a hard link", [{ name: "link", type: "1", linkName: "run.sh" }], /is a hard link/, "link"],
    [
      "a symbolic link with a long target",
      [
        { name: "././@LongLink", type: "K", body: "/etc\0" },
        { name: "link", type: "2" },
      ],
      /is a symbolic link/,
      "link",
    ],
    ["a character device", [{ name: "tty", type: "3" }], /is a character device/, "tty"],
    ["a block device", [{ name: "disk", type: "4" }], /is a block device/, "disk"],
    ["a FIFO", [{ name: "pipe", type: "6" }], /is a FIFO/, "pipe"],
    ["a contiguous file", [{ name: "old", type: "7" }], /neither a file nor a directory/, "old"],
    ["a GNU sparse file", [{ name: "holes", type: "S" }], /is a sparse file/, "holes"],
    [
      "a POSIX sparse file",
      [paxHeader({ "GNU.sparse.major": "1" }), file("holes")],
      /sparse file/,
      undefined,
    ],
    ["an absolute path", [file("/etc/passwd")], /absolute path/, "/etc/passwd"],
    ["a path upwards", [file("../evil")], /has \.\. in its path/, "../evil"],
    ["a path upwards inside", [file("a/../../evil")], /has \.\. in its path/, "a/../../evil"],
    ["a path upwards behind ./", [file("./../evil")], /has \.\. in its path/, "./../evil"],
    ["an absolute path behind ./", [file(".//etc/passwd")], /empty or \. component/, ".//etc/passwd"],
    [
      "a path upwards by an extended header",
      [paxHeader({ path: "../evil" }), file("good")],
      /has \.\. in its path/,
      "../evil",
    ],
    ["a path upwards by a prefix", [{ ...file("evil"), prefix: ".." }], /has \.\. in its path/, "../evil"],
    ["an empty component", [file("a//b")], /empty or \. component/, "a//b"],
    ["a . component", [file("a/./b")], /empty or \. component/, "a/./b"],
    ["an entry without a name", [file("")], /has no name/, ""],
    ["a backslash", [file("a\\b")], /backslash/, "a\\b"],
    ["a drive letter", [file("C:evil")], /drive letter/, "C:evil"],
    ["a newline in a name", [file("a\nb")], /control character/, "a\nb"],
    ["a name that is decomposed", [file("u\u0308ber")], /normal form C/, "u\u0308ber"],
    [
      "a long component",
      [paxHeader({ path: "a".repeat(256) }), file("a")],
      /component longer than 255/,
      "a".repeat(256),
    ],
    [
      "a long path",
      [paxHeader({ path: "abc/".repeat(300) + "d" }), file("a")],
      /longer than 1024/,
      "abc/".repeat(300) + "d",
    ],
    ["a file twice", [file("a"), file("a")], /exists twice/, "a"],
    ["a directory twice", [{ name: "a/" }, { name: "a/" }], /exists twice/, "a"],
    ["a file over a directory", [{ name: "a/" }, file("a")], /exists twice/, "a"],
    ["a directory over a file", [file("a"), { name: "a/" }], /exists twice/, "a"],
    ["a file under a file", [file("a"), file("a/b")], /is below a file/, "a/b"],
    ["names that differ only by case", [file("README"), file("readme")], /differs only by case/, "readme"],
    [
      "directories whose names differ only by case",
      [file("Data/a"), file("data/b")],
      /differs only by case/,
      "data/b",
    ],
    [
      "names that differ only by ß and SS",
      [file("straße"), file("STRASSE")],
      /differs only by case/,
      "STRASSE",
    ],
    [
      "names that differ only by capital ß and ss",
      [file("straẞe"), file("strasse")],
      /differs only by case/,
      "strasse",
    ],
    ["names that differ only by the dotless i", [file("fıle"), file("file")], /differs only by case/, "file"],
    ["a file named like a directory", [{ name: "a/", type: "0" }], /named like a directory/, "a/"],
    ["a directory with content", [{ name: "a/", body: "x" }], /directory with content/, "a/"],
    [
      "two names for one entry",
      [paxHeader({ path: "a" }), { name: "././@LongLink", type: "L", body: "b\0" }, file("c")],
      /two different names/,
      "b",
    ],
    [
      "a global header that renames",
      [paxHeader({ path: "a" }, "g"), file("b")],
      /global header that sets path/,
      undefined,
    ],
    [
      "a large extended header",
      [{ name: "x", type: "x", body: Buffer.alloc(70_000, "a") }],
      /extended header of more than/,
      undefined,
    ],
    [
      "a damaged extended header",
      [{ name: "x", type: "x", body: "99 path=a\n" }, file("a")],
      /extended header cannot be read/,
      undefined,
    ],
    [
      "an extended header with a blank before its key",
      [{ name: "x", type: "x", body: "14  path=evil\n" }, file("a")],
      /an invalid key/,
      undefined,
    ],
    [
      "an extended header without a key",
      [{ name: "x", type: "x", body: "5 =a\n" }, file("a")],
      /an invalid key/,
      undefined,
    ],
    [
      "two extended headers for one entry",
      [paxHeader({ path: "a" }), paxHeader({ size: "1" }), file("c")],
      /two extended headers/,
      "a",
    ],
    [
      "two long names for one entry",
      [{ name: "@", type: "L", body: "a\0" }, { name: "@", type: "L", body: "a\0" }, file("c")],
      /two extended headers/,
      "a",
    ],
    ["an old format", [{ ...file("a"), magic: "" }], /not a POSIX tar/, undefined],
  ];
  for (const [title, entries, rule, entry] of hostile) {
    it(`rejects ${title}`, () => {
      const error = rejectionOf(aTar(entries));
      expect(error.message).to.match(rule);
      expect(error.entry).to.equal(entry);
    });
  }

  it("lists all entries that break a rule, and a folder's spelling once", () => {
    const error = rejectionOf(
      aTar([
        file("Data/a"),
        file("data/b"),
        { name: "link", type: "2", linkName: "/etc" },
        file("data/c"),
        file("README"),
        file("readme"),
        file("README"),
      ]),
    );
    expect(error.message).to.equal(
      "The archive breaks the rules in several places: " +
        '"data" differs only by case from "Data"; ' +
        '"link" is a symbolic link (tar --dereference stores what it points to); ' +
        '"readme" differs only by case from "README"; "README" exists twice.',
    );
    expect(error.refusals.map(({ entry }) => entry)).to.deep.equal(["data/b", "link", "readme", "README"]);
    const many = Array.from({ length: 300 }, (_, at) => [file(`a${at}`), file(`A${at}`)]).flat();
    const { message, refusals } = rejectionOf(aTar(many));
    expect(refusals).to.have.length(20);
    expect(message).to.match(/"A19" differs only by case from "a19"; and 280 more\.$/);
  });

  it("stops after a thousand entries that break a rule, and names them before damage that follows", () => {
    const link = (at: number): Buffer => tarEntry({ name: `${"l".repeat(50)}${at}`, type: "2" });
    expect(rejectionOfFlood(repeated(300_000, link), rules).message).to.match(
      /and 981 more, or even more\.$/,
    );
    const damaged = Buffer.concat([link(1), Buffer.alloc(512, "x")]);
    expect(rejectionOf(damaged).message).to.match(/symbolic link/);
  });

  it("rejects data that is not tar, is truncated, or continues after its end", () => {
    expect(rejectionOf(Buffer.alloc(2048, "a")).message).to.match(/checksum/);
    expect(rejectionOf(whole.subarray(0, 600)).message).to.match(/ends too early/);
    expect(rejectionOf(whole.subarray(0, -512)).message).to.match(/ends too early/);
    expect(rejectionOf(Buffer.alloc(0)).message).to.match(/ends too early/);
    expect(rejectionOf(Buffer.concat([whole, Buffer.from("x")])).message).to.match(/after its end marker/);
    expect(
      rejectionOf(Buffer.concat([tarEntry(file("a")), Buffer.alloc(512), tarEntry(file("b"))])).message,
    ).to.match(/after a block of zeros/);
    expect(rejectionOf(Buffer.concat([whole, Buffer.alloc(2 ** 20 + 1)])).message).to.match(/too many bytes/);
  });

  it("rejects a name that is not UTF-8", () => {
    const header = tarEntry(file("a?b"));
    const sum = header.subarray(0, 512).reduce((total, byte) => total + byte, 0);
    header[1] = 0xff;
    const digits = Number.parseInt(header.toString("latin1", 148, 154), 8) + 0xff - "?".charCodeAt(0);
    header.write(`${digits.toString(8).padStart(6, "0")}\0 `, 148);
    expect(sum).to.be.greaterThan(0);
    expect(rejectionOf(header).message).to.match(/not UTF-8/);
  });

  it("enforces the limits of bytes, entries and paths while reading", () => {
    const small = (overrides: Partial<ArchiveRules["limits"]>): ArchiveRules => ({
      ...rules,
      limits: { ...limits.archive, ...overrides },
    });
    expect(
      rejectionOf(aTar([file("a", "xx"), { name: "b", size: 10 ** 9 }]), {
        withRules: small({ unpackedBytes: 10 ** 9 }),
      }).entry,
    ).to.equal("b");
    expect(
      read(aTar([file("a", "xx"), file("b", "xx")]), { withRules: small({ unpackedBytes: 4 }) }),
    ).to.have.length(2);
    expect(rejectionOf(aTar([file("a/b/c")]), { withRules: small({ entries: 2 }) }).message).to.match(
      /more than 2 files/,
    );
    const paths = aTar([{ name: "./folder/" }, file("folder/ä")]);
    expect(read(paths, { withRules: small({ pathsBytes: 15 }) })).to.have.length(2);
    expect(rejectionOf(paths, { withRules: small({ pathsBytes: 14 }) }).message).to.match(
      /has more than 14 bytes of paths in total/,
    );
  });

  it("keeps each name in memory once, however long its paths are", () => {
    const folder = `${"d".repeat(240)}/`.repeat(4);
    const reader = createArchiveReader(rules);
    const before = heapInUse();
    for (let at = 0; at < 5_000; at += 1) {
      const name = String(at).padStart(20, "0");
      reader.write(
        Buffer.concat([tarEntry(paxHeader({ path: `${folder}${name}` })), tarEntry(file("cut", ""))]),
        Number.MAX_SAFE_INTEGER,
      );
    }
    // The paths alone would need 4.7 MiB.
    expect((heapInUse() - before) / 2 ** 20).to.be.below(3);
    reader.write(aTar([]), Number.MAX_SAFE_INTEGER);
    reader.finish();
  });

  it("keeps a lower-case name in one byte per UTF-8 byte, even beyond Latin-1", () => {
    const reader = createArchiveReader(rules);
    const before = heapInUse();
    for (let at = 0; at < 20_000; at += 1) {
      const path = `${String(at).padStart(20, "0")}${"n".repeat(200)}字`;
      reader.write(
        Buffer.concat([tarEntry(paxHeader({ path })), tarEntry(file("cut", ""))]),
        Number.MAX_SAFE_INTEGER,
      );
    }
    // The names alone need 4.3 MiB. Two bytes per character, or a second copy of the folded name, would need
    // twice as much.
    expect((heapInUse() - before) / 2 ** 20).to.be.within(4, 7.5);
    reader.write(aTar([]), Number.MAX_SAFE_INTEGER);
    reader.finish();
  });

  const withoutEntry: [title: string, header: TarEntrySpec][] = [
    ["global headers", paxHeader({ comment: "0123abcd" }, "g")],
    ["empty global headers", { name: "pax", type: "g" }],
    ["./", { name: "./" }],
    [".", { name: ".", type: "5" }],
  ];
  for (const [title, header] of withoutEntry) {
    it(`rejects hundreds of thousands of ${title}, which neither the entry limit nor the ratio of saves covers`, () => {
      const block = tarEntry(header);
      for (const withRules of [rules, saveArchiveRules]) {
        expect(
          rejectionOfFlood(
            repeated(300_000, () => block),
            withRules,
          ).message,
        ).to.match(/more than 1000 headers without a file or directory.*create it again/);
      }
    });
  }

  it("limits global headers and root entries together, and accepts those of a concatenated archive", () => {
    const pair = [paxHeader({ comment: "0123abcd" }, "g"), { name: "./" }];
    const joined = Array.from({ length: 500 }, () => pair).flat();
    expect(read(aTar([...joined, file("a")]), { withRules: saveArchiveRules })).to.deep.equal(["a=x"]);
    expect(
      rejectionOf(aTar([...joined, { name: "./" }, file("a")]), { withRules: saveArchiveRules }).message,
    ).to.match(/more than 1000 headers/);
  });

  it("rejects many entries with large extended headers, and accepts the longest path for each", () => {
    const large = tarEntry(paxHeader({ comment: "c".repeat(60_000) }));
    const flood = repeated(1000, (at) => Buffer.concat([large, tarEntry(file(String(at), ""))]));
    expect(rejectionOfFlood(flood, saveArchiveRules).message).to.match(
      /more than 40960000 bytes of extended headers: create it again/,
    );
    const folder = `${"d".repeat(255)}/`.repeat(3);
    const longest = Array.from({ length: 97 }, (_, at) => [
      paxHeader({ path: `${folder}${String(at).padStart(255, "0")}`, mtime: "1700000000.123456789" }),
      file("cut"),
    ]).flat();
    expect(
      read(aTar(longest), {
        withRules: { ...saveArchiveRules, limits: { ...saveArchiveRules.limits, entries: 100 } },
      }),
    ).to.have.length(97);
  });

  it("accepts a file with sixty extended attributes, written twice, and rejects thousands of records in a header", () => {
    const attributes = Array.from({ length: 60 }, (_, at) => [
      `SCHILY.xattr.user.größe${at}`,
      `LIBARCHIVE.xattr.user.gr%C3%B6%C3%9Fe${at}`,
    ]).flat();
    const header = paxHeader({
      path: "a",
      mtime: "1.5",
      ...Object.fromEntries(attributes.map((key) => [key, "value"])),
    });
    for (const withRules of [rules, saveArchiveRules]) {
      expect(read(aTar([header, file("cut")]), { withRules })).to.deep.equal(["a=x"]);
      for (const type of ["x", "g"]) {
        const many = { name: "pax", type, body: "5 a=\n".repeat(13_107) };
        expect(rejectionOf(aTar([many, file("a")]), { withRules }).message).to.match(
          /an extended header of more than 128 records: create it again/,
        );
      }
    }
  });

  it("limits the total number of extended header records, and accepts those that common writers produce", () => {
    const withRules = { ...rules, limits: { ...limits.archive, entries: 10 } };
    const entryWith =
      (records: number) =>
      (at: number): Buffer =>
        Buffer.concat([
          tarEntry({ name: "pax", type: "x", body: "5 a=\n".repeat(records) }),
          tarEntry(file(String(at))),
        ]);
    expect(read(Buffer.concat([...repeated(10, entryWith(16)), aTar([])]), { withRules })).to.have.length(10);
    expect(rejectionOfFlood(repeated(10, entryWith(17)), withRules).message).to.match(
      /more than 160 records in its extended headers: create it again/,
    );
  });

  it("accepts headers of archives that were accepted without limits", () => {
    const withTen = (those: ArchiveRules): ArchiveRules => ({
      ...those,
      limits: { ...those.limits, entries: 10 },
    });
    const pax = (records: number): Buffer =>
      tarEntry({ name: "pax", type: "x", body: "5 a=\n".repeat(records) });
    const headers: [blocks: Buffer[], rejection: RegExp][] = [
      [[pax(129)], /an extended header of more than 128 records/],
      [
        [...repeated(9, (at) => Buffer.concat([pax(18), tarEntry(file(String(at)))]))],
        /more than 160 records/,
      ],
      [[tarEntry(paxHeader({ comment: "c".repeat(60_000) }))], /more than 20480 bytes of extended headers/],
      [[...repeated(1001, () => tarEntry({ name: "./" }))], /more than 1000 headers/],
    ];
    for (const [blocks, rejection] of headers) {
      expect(rejectionOfFlood(blocks, withTen(rules)).message).to.match(rejection);
      expect(entriesOfFlood(blocks, withTen(acceptedArchiveRules))).to.be.at.least(1);
    }
  });

  it("does not limit the headers of a stored save", () => {
    const records = [tarEntry({ name: "pax", type: "x", body: "5 a=\n".repeat(129) })];
    expect(rejectionOfFlood(records, saveArchiveRules).message).to.match(
      /an extended header of more than 128 records/,
    );
    expect(entriesOfFlood(records, storedSaveRules)).to.equal(1);
    expect(
      entriesOfFlood(
        repeated(1001, () => tarEntry({ name: "./" })),
        storedSaveRules,
      ),
    ).to.equal(1);
  });

  it("limits the paths of an accepted archive only by number and length", () => {
    expect(acceptedArchiveRules.limits.pathsBytes).to.equal(
      limits.archive.entries * limits.archive.pathBytes,
    );
  });

  it("still rejects entries of an accepted archive that escape the directory or are too many", () => {
    const withRules = { ...acceptedArchiveRules, limits: { ...acceptedArchiveRules.limits, entries: 2 } };
    expect(rejectionOf(aTar([file("../a")]), { withRules }).message).to.match(/\.\. in its path/);
    expect(rejectionOf(aTar([file("a"), file("b"), file("c")]), { withRules }).message).to.match(
      /more than 2 files/,
    );
  });

  it("requires the launcher and the engine directory at the root", () => {
    const asked = gameArchiveRules({ launcher: "run.sh", engineDir: "engine" });
    expect(read(aTar(aGameTar()), { withRules: asked })).to.have.length(3);
    expect(read(aTar([file("run.sh"), file("engine/implied")]), { withRules: asked })).to.have.length(2);
    expect(rejectionOf(aTar([file("engine/run.sh")]), { withRules: asked }).message).to.match(
      /no file "run.sh" with content/,
    );
    expect(
      rejectionOf(aTar([file("run.sh", ""), { name: "engine/" }]), { withRules: asked }).message,
    ).to.match(/no file "run.sh" with content/);
    expect(rejectionOf(aTar([file("run.sh"), file("engine")]), { withRules: asked }).message).to.match(
      /no directory "engine"/,
    );
    // Nodes look for exactly these names.
    expect(rejectionOf(aTar([file("run.sh"), file("Engine/data")]), { withRules: asked }).message).to.match(
      /no directory "engine"/,
    );
    expect(rejectionOf(aTar([file("Run.sh"), file("engine/data")]), { withRules: asked }).message).to.match(
      /no file "run.sh" with content/,
    );
  });

  it("accepts any save name inside the directory", () => {
    expect(
      read(aTar([file("Save1"), file("save1"), file("a\\b"), file("u\u0308")]), {
        withRules: saveArchiveRules,
      }),
    ).to.have.length(4);
    expect(rejectionOf(aTar([file("../a")]), { withRules: saveArchiveRules }).message).to.match(/\.\./);
    expect(rejectionOf(aTar([{ name: "a", type: "2" }]), { withRules: saveArchiveRules }).message).to.match(
      /symbolic link/,
    );
  });

  it("quotes an entry's name as a printable line of limited length", () => {
    const { message } = rejectionOf(
      aTar([paxHeader({ path: `\u001b[31m\u202e${"x".repeat(900)}` }), file("a")]),
    );
    expect(message).to.have.length.below(300);
    expect(message).to.not.match(/[\u0000-\u001f\u202e]/);
  });
});
