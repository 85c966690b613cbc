import { randomBytes } from "node:crypto";
import { constants, crc32, deflateRawSync } from "node:zlib";
import { tarEnd, tarEntry } from "../factories/tarArchive.ts";

const fileBytes = 8 * 2 ** 20;
const gzipHeader = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);

const head = Buffer.concat([tarEntry({ name: "play.sh", body: "#!/bin/sh\n", mode: 0o755 }), tarEntry({ name: "engine/" })]);

/**
 * The tar.gz of a game of any size, made while it is read and without the cost of compressing it again and again: each file has
 * the same content, packed once. An eighth of it is text, the rest does not shrink, as in games whose pictures and sounds are packed.
 */
export class PackedGame {
  readonly #content = Buffer.concat([randomBytes(fileBytes * 7 / 8), Buffer.alloc(fileBytes / 8, "A line of a game's script, which says nearly the same again and again. ")]);
  readonly #packed = packed(this.#content);

  /** An archive of at least so many bytes, and less than a file more; each one is another. */
  *pieces(atLeastBytes: number): Generator<Buffer, void, void> {
    let sum = 0;
    let length = 0;
    const take = (bytes: Buffer): void => {
      sum = crc32(bytes, sum);
      length += bytes.length;
    };
    const id = randomBytes(4).toString("hex");
    take(head);
    yield Buffer.concat([gzipHeader, packed(head)]);
    for (let file = 0; file < this.#filesOf(atLeastBytes); file += 1) {
      const header = tarEntry({ name: `engine/${id}-${String(file).padStart(5, "0")}.bin`, size: fileBytes });
      take(header);
      take(this.#content);
      yield stored(header);
      yield this.#packed;
    }
    take(tarEnd);
    const trailer = Buffer.alloc(8);
    trailer.writeUInt32LE(sum, 0);
    trailer.writeUInt32LE(length % 2 ** 32, 4);
    yield Buffer.concat([deflateRawSync(tarEnd), trailer]);
  }

  /** Length of such an archive. */
  packedBytes(atLeastBytes: number): number {
    const ends = gzipHeader.length + packed(head).length + deflateRawSync(tarEnd).length + 8;
    return ends + this.#filesOf(atLeastBytes) * (stored(Buffer.alloc(512)).length + this.#packed.length);
  }

  #filesOf(atLeastBytes: number): number {
    return Math.ceil(atLeastBytes / this.#packed.length);
  }
}

/** Compressed, with an end at which something else can go on. */
function packed(bytes: Buffer): Buffer {
  return deflateRawSync(bytes, { finishFlush: constants.Z_FULL_FLUSH });
}

/** The same without compression, so that the length does not depend on the content. */
function stored(bytes: Buffer): Buffer {
  return deflateRawSync(bytes, { level: 0, finishFlush: constants.Z_FULL_FLUSH });
}
