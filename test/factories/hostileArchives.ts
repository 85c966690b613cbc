import { paxHeader, type TarEntrySpec } from "./tarArchive.ts";

/**
 * Entries that a partner's archive must not have, each with a description and the entry name that the error
 * message must contain.
 */
export const hostileEntries: readonly { what: string; entry: string; entries: TarEntrySpec[] }[] = [
  { what: "a path upwards", entry: "../evil", entries: [{ name: "../evil", body: "x" }] },
  { what: "an absolute path", entry: "/etc/passwd", entries: [{ name: "/etc/passwd", body: "x" }] },
  {
    what: "a path upwards by an extended header",
    entry: "../evil",
    entries: [paxHeader({ path: "../evil" }), { name: "good", body: "x" }],
  },
  {
    what: "a path upwards by a long name",
    entry: "../evil",
    entries: [
      { name: "././@LongLink", type: "L", body: "../evil\0", magic: "ustar  \0" },
      { name: "good", body: "x", magic: "ustar  \0" },
    ],
  },
  {
    what: "a symbolic link",
    entry: "engine/link",
    entries: [{ name: "engine/link", type: "2", linkName: "/etc" }],
  },
  {
    what: "a hard link",
    entry: "engine/link",
    entries: [{ name: "engine/link", type: "1", linkName: "play.sh" }],
  },
  { what: "a character device", entry: "engine/tty", entries: [{ name: "engine/tty", type: "3" }] },
  { what: "a block device", entry: "engine/disk", entries: [{ name: "engine/disk", type: "4" }] },
  { what: "a FIFO", entry: "engine/pipe", entries: [{ name: "engine/pipe", type: "6" }] },
  { what: "a sparse file", entry: "engine/holes", entries: [{ name: "engine/holes", type: "S" }] },
  { what: "a file twice", entry: "play.sh", entries: [{ name: "play.sh", body: "x" }] },
  { what: "a file under a file", entry: "play.sh/x", entries: [{ name: "play.sh/x", body: "x" }] },
  { what: "a name of two lines", entry: "engine/a\nb", entries: [{ name: "engine/a\nb", body: "x" }] },
  {
    what: "a name that is decomposed",
    entry: "engine/u\u0308",
    entries: [{ name: "engine/u\u0308", body: "x" }],
  },
  { what: "twins by case", entry: "ENGINE/x", entries: [{ name: "ENGINE/x", body: "x" }] },
  {
    what: "twins by ß",
    entry: "STRASSE",
    entries: [
      { name: "straße", body: "x" },
      { name: "STRASSE", body: "x" },
    ],
  },
  {
    what: "twins by the dotless i",
    entry: "file",
    entries: [
      { name: "fıle", body: "x" },
      { name: "file", body: "x" },
    ],
  },
];
