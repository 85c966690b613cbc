import { expect } from "chai";
import { PassThrough } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { BodyReader, CutOff, TooSlow, type Pace } from "#api/archives/bodyReader.ts";

const pace = { idleMs: 30, windowMs: 0, minBytesPerWindow: 100 };
const patient = { idleMs: 10_000, windowMs: 10_000, minBytesPerWindow: 100 };
const never = new AbortController().signal;

function bodyOf(...pieces: Buffer[]): PassThrough {
  const body = new PassThrough();
  for (const piece of pieces) body.write(piece);
  return body;
}

function numbers(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, index) => index % 251));
}

/** All that comes, in memories of this size, and how much each of them held. */
async function readAll(
  body: PassThrough,
  { memoryBytes = 100, pace = patient }: { memoryBytes?: number; pace?: Pace } = {},
): Promise<{ bytes: Buffer; lengths: number[] }> {
  const reader = new BodyReader(body, pace, never);
  const pieces: Buffer[] = [];
  try {
    for (;;) {
      const memory = Buffer.alloc(memoryBytes);
      const piece = memory.subarray(0, await reader.fill(memory));
      if (piece.length === 0)
        return { bytes: Buffer.concat(pieces), lengths: pieces.map(({ length }) => length) };
      pieces.push(piece);
    }
  } finally {
    reader.close();
  }
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe("BodyReader", () => {
  it("fills each memory except the last completely, whatever the size of the chunks", async () => {
    for (const sizes of [[1000], [99, 1, 100, 101, 250], Array.from({ length: 300 }, () => 1), [100], [50]]) {
      const sent = numbers(sizes.reduce((sum, size) => sum + size, 0));
      let at = 0;
      const body = bodyOf(...sizes.map((size) => Buffer.from(sent.subarray(at, (at += size)))));
      body.end();
      const { bytes, lengths } = await readAll(body);
      expect(bytes.equals(sent), `sizes ${sizes.join()}`).to.be.true;
      expect(
        lengths.slice(0, -1).every((length) => length === 100),
        `lengths ${lengths.join()}`,
      ).to.be.true;
    }
  });

  it("reads nothing from an empty body", async () => {
    expect((await readAll(new PassThrough().end())).lengths).to.deep.equal([]);
  });

  it("reads no more than fits into the memory", async () => {
    const body = new PassThrough({ highWaterMark: 1000 });
    const reader = new BodyReader(body, patient, never);
    const filled = reader.fill(Buffer.alloc(100));
    body.write(Buffer.alloc(150));
    expect(await filled).to.equal(100);
    for (let turn = 0; turn < 10; turn++) {
      body.write(Buffer.alloc(10));
      await setImmediate();
    }
    expect(body.readableLength).to.equal(100);
    reader.close();
  });

  it("fails for a silent or slow sender, but not at the minimum rate", async () => {
    expect(await failureOf(readAll(bodyOf(Buffer.alloc(100)), { pace }))).to.be.instanceOf(TooSlow);
    expect(
      await failureOf(
        readAll(bodyOf(Buffer.alloc(100), Buffer.alloc(99)).end(), { pace: { ...pace, idleMs: 10_000 } }),
      ),
    ).to.be.instanceOf(TooSlow);
    expect(
      await failureOf(
        readAll(bodyOf(Buffer.alloc(99)), { memoryBytes: 99, pace: { ...pace, idleMs: 10_000 } }),
      ),
      "though it fills the memory",
    ).to.be.instanceOf(TooSlow);
    expect(await failureOf(readAll(bodyOf(Buffer.alloc(100), Buffer.alloc(200)).end(), { pace }))).to.be
      .undefined;
  });

  it("does not count time without a read", async () => {
    const body = bodyOf(Buffer.alloc(100));
    const reader = new BodyReader(body, { idleMs: 20, windowMs: 20, minBytesPerWindow: 1000 }, never);
    await reader.fill(Buffer.alloc(100));
    const startedMs = performance.now();
    while (performance.now() - startedMs < 60) await setImmediate();
    body.end(Buffer.alloc(50));
    expect(await reader.fill(Buffer.alloc(100))).to.equal(50);
    reader.close();
  });

  it("throws for a body that is cut off, before and during a read", async () => {
    const cut = bodyOf(Buffer.alloc(50)).destroy(new Error("reset"));
    expect(await failureOf(readAll(cut))).to.be.instanceOf(CutOff);
    const body = bodyOf(Buffer.alloc(150));
    const failure = failureOf(readAll(body));
    await setImmediate();
    body.destroy();
    expect(await failure).to.be.instanceOf(CutOff);
  });

  it("throws the reason of an abort, before and during a read", async () => {
    const controller = new AbortController();
    const reader = new BodyReader(bodyOf(), patient, controller.signal);
    const failure = failureOf(reader.fill(Buffer.alloc(100)));
    const reason = new Error("deleted");
    controller.abort(reason);
    expect(await failure).to.equal(reason);
    expect(await failureOf(reader.fill(Buffer.alloc(100)))).to.equal(reason);
    reader.close();
  });

  it("leaves the rest of the body unread when it is closed", async () => {
    const body = new PassThrough();
    const reader = new BodyReader(body, patient, never);
    const filled = reader.fill(Buffer.alloc(100));
    body.write(Buffer.alloc(100));
    await filled;
    reader.close();
    body.end(Buffer.alloc(70));
    let left = 0;
    for await (const bytes of body as AsyncIterable<Buffer>) left += bytes.length;
    expect(left).to.equal(70);
  });
});
