import { expect } from "chai";
import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createDigestGate } from "#api/saves/savedObject.ts";
import { sha256Of } from "#test/support/fixtures/archives.ts";

describe("createDigestGate", () => {
  /** What passes of the pieces when they should be `expected`, and whether the stream ended well. */
  async function passed(pieces: Buffer[], expected: Buffer): Promise<{ bytes: Buffer; isWhole: boolean }> {
    const seen: Buffer[] = [];
    const gate = createDigestGate({ objectKey: "a", sha256: sha256Of(expected), bytes: expected.length });
    const isWhole = await pipeline(Readable.from(pieces), gate, async (source: AsyncIterable<Buffer>) => {
      for await (const piece of source) seen.push(piece);
    }).then(
      () => true,
      () => false,
    );
    return { bytes: Buffer.concat(seen), isWhole };
  }

  const pieces = [randomBytes(1000), randomBytes(2000), randomBytes(10)];
  const whole = Buffer.concat(pieces);

  it("passes an intact save through unchanged", async () => {
    const { bytes, isWhole } = await passed(pieces, whole);
    expect(isWhole).to.be.true;
    expect(bytes.equals(whole)).to.be.true;
  });

  it("withholds the end of any other save, so that no reader takes it for complete", async () => {
    const changed = Buffer.from(whole);
    changed.writeUInt8((changed.readUInt8(5) + 1) % 256, 5);
    for (const other of [
      [changed],
      [changed.subarray(0, 1500), changed.subarray(1500)],
      pieces.slice(0, 2),
      [],
      [whole, Buffer.from("more")],
    ]) {
      const { bytes, isWhole } = await passed(other, whole);
      expect(isWhole).to.be.false;
      expect(bytes.length).to.be.below(Math.max(1, Buffer.concat(other).length));
    }
  });
});
