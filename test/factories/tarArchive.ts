import { gzipSync } from "node:zlib";

/** An entry of a handmade archive, which may be invalid. */
export interface TarEntrySpec {
  name: string;
  /** Type flag. Default: a file, or a directory if the name ends with a slash. */
  type?: string;
  body?: string | Buffer;
  /** Size in the header if it differs from the body's. */
  size?: number;
  mode?: number;
  linkName?: string;
  mtimeSeconds?: number;
  /** Magic and version. Default: POSIX. */
  magic?: string;
  prefix?: string;
  /** Encoding of size and time. Default: octal digits. */
  numbers?: "octal" | "spaces" | "base256" | "empty";
  /** Encoding of the checksum. Default: six digits, NUL and a space. */
  checksum?: "usual" | "spaces" | "digits";
  /** Padding of the last block. Default: zeros. */
  paddingByte?: number;
}

/** Returns the header block and the padded body of an entry. */
export function tarEntry({
  name,
  type,
  body = "",
  size,
  mode = 0o644,
  linkName = "",
  mtimeSeconds = 1_700_000_000,
  magic = "ustar\x0000",
  prefix = "",
  numbers = "octal",
  checksum = "usual",
  paddingByte = 0,
}: TarEntrySpec): Buffer {
  const content = Buffer.from(body);
  const header = Buffer.alloc(512);
  const put = (text: string, offset: number, length: number): void =>
    void header.write(text, offset, length, "utf8");
  put(name, 0, 100);
  put(octal(mode, 7), 100, 8);
  put(octal(0, 7), 108, 8);
  put(octal(0, 7), 116, 8);
  writeNumber(header.subarray(124, 136), size ?? content.length, numbers);
  writeNumber(header.subarray(136, 148), mtimeSeconds, numbers);
  put(type ?? (name.endsWith("/") ? "5" : "0"), 156, 1);
  put(linkName, 157, 100);
  put(magic, 257, 8);
  put(prefix, 345, 155);
  header.fill(" ", 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(
    { usual: `${octal(sum, 6)}\0 `, spaces: `${sum.toString(8).padStart(6, " ")}\0 `, digits: octal(sum, 8) }[
      checksum
    ],
    148,
    8,
  );
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512, paddingByte)]);
}

function writeNumber(field: Buffer, value: number, way: "octal" | "spaces" | "base256" | "empty"): void {
  if (way === "empty") return;
  if (way === "base256") {
    field.fill(value < 0 ? 0xff : 0);
    field.writeBigInt64BE(BigInt(value), field.length - 8);
    if (value >= 0) field.writeUInt8(0x80, 0);
  } else {
    field.write(
      way === "octal"
        ? octal(value, field.length - 1)
        : `${value.toString(8).padStart(field.length - 1, " ")} `,
      0,
      "latin1",
    );
  }
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}

/** The two blocks of zeros that end an archive. */
export const tarEnd = Buffer.alloc(1024);

/** Returns an uncompressed archive. */
export function aTar(entries: readonly TarEntrySpec[]): Buffer {
  return Buffer.concat([...entries.map(tarEntry), tarEnd]);
}

/** Returns a compressed archive. */
export function aTarGz(entries: readonly TarEntrySpec[]): Buffer {
  return gzipSync(aTar(entries));
}

/**
 * Returns an extended header with the given records: type `x` for the next entry, or `g` for all following
 * ones.
 */
export function paxHeader(records: Record<string, string>, type: "x" | "g" = "x"): TarEntrySpec {
  return { name: "PaxHeaders/entry", type, body: paxBody(records) };
}

/** Returns the records of an extended header, each prefixed with its length. */
export function paxBody(records: Record<string, string>): string {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = Buffer.byteLength(` ${key}=${value}\n`);
    let length = rest + 1;
    while (rest + String(length).length !== length) length += 1;
    return `${length} ${key}=${value}\n`;
  });
  return lines.join("");
}

/**
 * Returns the entries of a minimal valid game archive: launcher, engine, and a file with the given content.
 */
export function aGameTar(content: string | Buffer = "data"): TarEntrySpec[] {
  return [
    { name: "run.sh", body: "#!/bin/sh\n", mode: 0o755 },
    { name: "engine/", mode: 0o755 },
    { name: "engine/data.bin", body: content },
  ];
}
