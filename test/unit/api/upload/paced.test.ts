import { expect } from "chai";
import { paced, TooSlow } from "../../../../api/src/upload/paced.ts";

const pace = { idleMs: 30, windowMs: 0, minBytesPerWindow: 100 };

/** Gives these pieces and then nothing more, for ever. */
async function* thenSilence(...pieces: Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces;
  await new Promise<never>(() => undefined);
}

async function* from(...pieces: Buffer[]): AsyncGenerator<Buffer> {
  yield* await Promise.resolve(pieces);
}

async function failureOf(pieces: AsyncIterable<Buffer>): Promise<unknown> {
  try {
    for await (const piece of pieces) expect(piece).to.be.instanceOf(Buffer);
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("paced", () => {
  const never = new AbortController().signal;

  it("gives all pieces of a sender that keeps up", async () => {
    expect(await failureOf(paced(from(Buffer.alloc(100), Buffer.alloc(200)), pace, never))).to.be.undefined;
  });

  it("ends a sender that falls silent, and one that trickles", async () => {
    expect(await failureOf(paced(thenSilence(Buffer.alloc(100)), pace, never))).to.be.instanceOf(TooSlow);
    expect(await failureOf(paced(from(Buffer.alloc(100), Buffer.alloc(99)), pace, never))).to.be.instanceOf(TooSlow);
  });

  it("ends with the reason of an abort, also while it waits", async () => {
    const controller = new AbortController();
    const failure = failureOf(paced(thenSilence(), { ...pace, idleMs: 10_000 }, controller.signal));
    const reason = new Error("deleted");
    controller.abort(reason);
    expect(await failure).to.equal(reason);
  });
});
