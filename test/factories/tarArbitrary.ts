import fc from "fast-check";
import { aTar, paxBody, paxHeader, tarEntry, type TarEntrySpec } from "./tarArchive.ts";

/** A file or directory of a game. */
interface TreeEntry {
  path: string;
  /** Undefined for a directory. */
  body: string | undefined;
}

const component = fc.constantFrom(
  "a",
  "b",
  "engine",
  "Data",
  "größe",
  "日本",
  ".hidden",
  "-rf",
  "a b",
  "k=v",
  "*",
  "x".repeat(99),
  "y".repeat(101),
  "ü".repeat(60),
  "z".repeat(255),
);
const path = fc
  .array(component, { minLength: 1, maxLength: 4 })
  .map((components) => components.join("/"))
  .filter((name) => Buffer.byteLength(name) < 1000);
const body = fc
  .tuple(fc.constantFrom(0, 1, 511, 512, 513, 1500), fc.constantFrom("a", "\0", "Z"))
  .map(([length, character]) => character.repeat(length));

/** A valid file tree of a game: unique names, no entries below a file, and with launcher and engine. */
const tree: fc.Arbitrary<TreeEntry[]> = fc
  .array(fc.record({ path, body: fc.option(body, { nil: undefined, freq: 3 }) }), { maxLength: 6 })
  .map((entries) => {
    const kept: TreeEntry[] = [
      { path: "play.sh", body: "#!/bin/sh\n" },
      { path: "engine", body: undefined },
    ];
    for (const entry of entries) if (kept.every((other) => fitsBeside(other, entry))) kept.push(entry);
    return kept;
  });

function fitsBeside(known: TreeEntry, added: TreeEntry): boolean {
  const [one, other] = [known.path.toLowerCase(), added.path.toLowerCase()];
  if (one === other) return false;
  if (other.startsWith(`${one}/`)) return known.body === undefined && added.path.startsWith(`${known.path}/`);
  if (one.startsWith(`${other}/`)) return added.body === undefined && known.path.startsWith(`${added.path}/`);
  // Parent folders must not differ only in case from each other or from a file.
  return added.path
    .split("/")
    .slice(0, -1)
    .every((_, at, names) => {
      const folder = names.slice(0, at + 1).join("/");
      return !one.startsWith(`${folder.toLowerCase()}/`) || known.path.startsWith(`${folder}/`);
    });
}

/** How an entry is encoded. Names that do not fit the header use an extended header. */
const style = fc.record({
  way: fc.constantFrom("plain", "prefix", "gnuLong", "pax", "paxSize"),
  isDotted: fc.boolean(),
  isGnu: fc.boolean(),
  numbers: fc.constantFrom("octal", "spaces", "base256"),
  checksum: fc.constantFrom("usual", "spaces", "digits"),
  hasOldFlag: fc.boolean(),
  paddingByte: fc.constantFrom(0, 0x41),
  extraRecords: fc.dictionary(
    fc.constantFrom("mtime", "atime", "comment", "uname", "SCHILY.fflags"),
    fc.constantFrom("12.5", "x=y", "a b"),
    { maxKeys: 2 },
  ),
  hasGlobalComment: fc.boolean(),
});
type Style = typeof style extends fc.Arbitrary<infer S> ? S : never;

function written({ path: plainPath, body: content }: TreeEntry, how: Style): TarEntrySpec[] {
  const name = `${how.isDotted ? "./" : ""}${plainPath}${content === undefined ? "/" : ""}`;
  const isDirectory = content === undefined;
  const base: TarEntrySpec = {
    name,
    body: content ?? "",
    type: isDirectory ? "5" : how.hasOldFlag && !how.isGnu ? "\0" : "0",
    mode: isDirectory ? 0o755 : 0o644,
    magic: how.isGnu ? "ustar  \0" : "ustar\x0000",
    numbers: how.numbers,
    checksum: how.checksum,
    paddingByte: how.paddingByte,
  };
  const extended = how.hasGlobalComment ? [paxHeader({ comment: "a game" }, "g")] : [];
  const isShort = Buffer.byteLength(name) <= 100;
  const slash = name.lastIndexOf("/", name.length - 2);
  if (how.way === "plain" && isShort) return [...extended, base];
  if (
    how.way === "prefix" &&
    !how.isGnu &&
    slash > 0 &&
    Buffer.byteLength(name.slice(0, slash)) <= 155 &&
    Buffer.byteLength(name.slice(slash + 1)) <= 100
  ) {
    return [...extended, { ...base, prefix: name.slice(0, slash), name: name.slice(slash + 1) }];
  }
  if (how.way === "gnuLong")
    return [
      ...extended,
      { name: "././@LongLink", type: "L", body: `${name}\0`, magic: "ustar  \0" },
      { ...base, name: "cut", magic: "ustar  \0" },
    ];
  if (how.way === "paxSize" && !isDirectory) {
    // The header has a wrong name and size; the extended header takes precedence.
    return [
      ...extended,
      paxHeader({ ...how.extraRecords, path: name, size: String(content.length) }),
      { ...base, name: "../not/this", size: 0 },
    ];
  }
  return [...extended, paxHeader({ ...how.extraRecords, path: name }), { ...base, name: "/not/this" }];
}

/** A valid game archive, with entries in all encodings that tar allows. */
export const goodEntries: fc.Arbitrary<{ tree: TreeEntry[]; entries: TarEntrySpec[][] }> = tree.chain(
  (entries) =>
    fc.tuple(...entries.map(() => style)).map((styles) => ({
      tree: entries,
      entries: entries.map((entry, index) => written(entry, styles[index] as Style)),
    })),
);

interface BadEntries {
  name: string;
  entries: TarEntrySpec[];
}

/** Entries that a game archive must not have, with the name that the error message must contain. */
export const badEntries: fc.Arbitrary<BadEntries> = fc.oneof(
  fc
    .constantFrom(
      "../evil",
      "a/../../evil",
      "/etc/evil",
      "./../evil",
      "a//evil",
      "a/./evil",
      "a\\evil",
      "C:evil",
      "a\nevil",
      "a\u0001",
      "e\u0301vil",
      "PLAY.SH",
      "Engine/evil",
      "ENGINE",
      "play.sh",
      "play.sh/evil",
      "ﬁ/..",
      "w".repeat(256),
      "deep/".repeat(220) + "evil",
    )
    .chain((name) => anyWayOf(name, "0")),
  fc
    .constantFrom("1", "2", "3", "4", "6", "7", "S", "D", "M", "V", "N", "A", "X", "Z")
    .chain((type) => anyWayOf("evil", type)),
  fc
    .constantFrom("0", "5")
    .map((type): BadEntries => ({ name: "evil/", entries: [{ name: "evil/", type, body: "x" }] })),
);

function anyWayOf(name: string, type: string): fc.Arbitrary<BadEntries> {
  const entry: TarEntrySpec = { name, type, body: "x", linkName: "12".includes(type) ? "play.sh" : "" };
  const masked = { ...entry, name: "good" };
  const ways: TarEntrySpec[][] = [
    [paxHeader({ path: name }), masked],
    [
      { name: "././@LongLink", type: "L", body: `${name}\0`, magic: "ustar  \0" },
      { ...masked, magic: "ustar  \0" },
    ],
    ...(Buffer.byteLength(name) <= 100 ? [[entry], [{ ...entry, magic: "ustar  \0" }]] : []),
  ];
  return fc.constantFrom(...ways).map((entries) => ({ name, entries }));
}

/** A modification of an archive's bytes. */
const edit = fc.oneof(
  // Changes a header field and corrects the checksum.
  fc.record({
    kind: fc.constant("field" as const),
    block: fc.nat(40),
    offset: fc.constantFrom(
      0,
      1,
      99,
      100,
      107,
      124,
      125,
      134,
      135,
      136,
      147,
      156,
      157,
      257,
      262,
      263,
      345,
      346,
      475,
      482,
    ),
    byte: fc.constantFrom(
      0,
      0x20,
      0x2e,
      0x2f,
      0x30,
      0x31,
      0x35,
      0x37,
      0x41,
      0x4b,
      0x4c,
      0x67,
      0x78,
      0x80,
      0xff,
    ),
  }),
  fc.record({
    kind: fc.constant("record" as const),
    block: fc.nat(40),
    text: fc.constantFrom(
      "13 path=evil\n",
      "14  path=evil\n",
      "013 path=evil\n",
      "13 path=evil\n13 path=good\n",
      "10 size=1\n",
      "12 size=1\n",
      "22 GNU.sparse.major=1\n",
      "9 path=\n",
      "8 size=\n",
      "17 size= 00000001\n",
      "13\tpath=evil\n",
      "13 path=ev\0l\n",
      "29 hdrcharset=BINARY\n",
      "20 GNU.dumpdir=Yplay\n",
      "17 linkpath=evil\n",
      " 13 path=evil\n",
      "6 x=y\n",
      "0\n",
      "25 GNU.sparse.name=evil\n13 path=good\n",
    ),
  }),
  fc.record({ kind: fc.constant("byte" as const), at: fc.nat(30_000), byte: fc.nat(255) }),
  fc.record({
    kind: fc.constantFrom("drop" as const, "double" as const, "zero" as const, "cut" as const),
    block: fc.nat(40),
  }),
  fc.record({
    kind: fc.constant("extended" as const),
    block: fc.nat(40),
    text: fc.constantFrom("good", "evil", "../evil", "e\0vil", ""),
    type: fc.constantFrom("L", "K", "x", "g"),
  }),
);
export type TarEdit = typeof edit extends fc.Arbitrary<infer E> ? E : never;

/** A valid archive with a few edits, after which it may still be valid. */
export const editedEntries: fc.Arbitrary<{ entries: TarEntrySpec[]; edits: TarEdit[] }> = fc.record({
  entries: goodEntries.map(({ entries }) => entries.flat()),
  edits: fc.array(edit, { maxLength: 3 }),
});

/** Returns the bytes of an archive with the edits applied. */
export function anEditedTar({
  entries,
  edits,
}: {
  entries: readonly TarEntrySpec[];
  edits: readonly TarEdit[];
}): Buffer {
  return edits.reduce(edited, aTar(entries));
}

function edited(tar: Buffer, change: TarEdit): Buffer {
  if (change.kind === "byte") {
    const copy = Buffer.from(tar);
    copy[change.at % Math.max(1, copy.length)] = change.byte;
    return copy;
  }
  const headers = headerOffsets(tar);
  const at = headers[change.block % Math.max(1, headers.length)] ?? 0;
  const [before, block, after] = [tar.subarray(0, at), tar.subarray(at, at + 512), tar.subarray(at + 512)];
  switch (change.kind) {
    case "field": {
      const header = Buffer.from(block);
      if (change.offset < header.length) header[change.offset] = change.byte;
      return Buffer.concat([before, withChecksum(header), after]);
    }
    case "record":
      return Buffer.concat([
        before,
        tarEntry({ name: "PaxHeaders/entry", type: "x", body: change.text }),
        block,
        after,
      ]);
    case "extended": {
      const content =
        change.type === "x" || change.type === "g" ? paxBody({ path: change.text }) : `${change.text}\0`;
      return Buffer.concat([
        before,
        tarEntry({ name: "extended", type: change.type, body: content }),
        block,
        after,
      ]);
    }
    case "drop":
      return Buffer.concat([before, after]);
    case "double":
      return Buffer.concat([before, block, block, after]);
    case "zero":
      return Buffer.concat([before, Buffer.alloc(512), block, after]);
    case "cut":
      return before;
  }
}

/** Returns the offsets of blocks with tar's magic. */
function headerOffsets(tar: Buffer): number[] {
  const offsets: number[] = [];
  for (let at = 0; at + 512 <= tar.length; at += 512)
    if (tar.toString("latin1", at + 257, at + 262) === "ustar") offsets.push(at);
  return offsets;
}

function withChecksum(header: Buffer): Buffer {
  if (header.length < 512) return header;
  header.fill(" ", 148, 156);
  header.write(
    `${header
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, "0")}\0 `,
    148,
    "latin1",
  );
  return header;
}
