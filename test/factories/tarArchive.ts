import { gzipSync } from "node:zlib";

/** One entry of an archive made by hand; nothing stops it from being wrong. */
export interface TarEntrySpec {
  name: string;
  /** Type flag; a file unless given, a directory when the name ends with a slash. */
  type?: string;
  body?: string | Buffer;
  /** What the header says, when it differs from the body. */
  size?: number;
  mode?: number;
  linkName?: string;
  mtimeSeconds?: number;
  /** Magic and version; POSIX unless given. */
  magic?: string;
  prefix?: string;
}

/** The header block and the padded body of one entry. */
export function tarEntry({ name, type, body = "", size, mode = 0o644, linkName = "", mtimeSeconds = 1_700_000_000, magic = "ustar\x0000", prefix = "" }: TarEntrySpec): Buffer {
  const content = Buffer.from(body);
  const header = Buffer.alloc(512);
  const put = (text: string, offset: number): void => void header.write(text, offset, "utf8");
  const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, "0");
  put(name, 0);
  put(octal(mode, 7), 100);
  put(octal(0, 7), 108);
  put(octal(0, 7), 116);
  put(octal(size ?? content.length, 11), 124);
  put(octal(mtimeSeconds, 11), 136);
  put(type ?? (name.endsWith("/") ? "5" : "0"), 156);
  put(linkName, 157);
  put(magic, 257);
  put(prefix, 345);
  header.fill(" ", 148, 156);
  put(`${octal(header.reduce((sum, byte) => sum + byte, 0), 6)}\0 `, 148);
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
}

/** The two blocks of zeros that end an archive. */
export const tarEnd = Buffer.alloc(1024);

/** A whole archive, uncompressed. */
export function aTar(entries: readonly TarEntrySpec[]): Buffer {
  return Buffer.concat([...entries.map(tarEntry), tarEnd]);
}

/** A whole archive, compressed. */
export function aTarGz(entries: readonly TarEntrySpec[]): Buffer {
  return gzipSync(aTar(entries));
}

/** An extended header (type `x`, or `g` for all that follows) with the given records. */
export function paxHeader(records: Record<string, string>, type: "x" | "g" = "x"): TarEntrySpec {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = Buffer.byteLength(` ${key}=${value}\n`);
    let length = rest + 1;
    while (rest + String(length).length !== length) length += 1;
    return `${length} ${key}=${value}\n`;
  });
  return { name: "PaxHeaders/entry", type, body: lines.join("") };
}

/** The smallest archive of a game that passes: launcher, engine, and a file of the given content. */
export function aGameTar(content: string | Buffer = "data"): TarEntrySpec[] {
  return [
    { name: "run.sh", body: "#!/bin/sh\n", mode: 0o755 },
    { name: "engine/", mode: 0o755 },
    { name: "engine/data.bin", body: content },
  ];
}
