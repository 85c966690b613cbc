import { expect } from "chai";
import { createChunksInUse } from "#node-agent/unpack/unpack.ts";

const done = Promise.resolve();

describe("createChunksInUse", () => {
  it("releases memory only when nothing reads or fills it any more", async () => {
    const chunks = createChunksInUse();
    const [shared, next] = [Buffer.allocUnsafeSlow(1000), Buffer.allocUnsafeSlow(1000)];
    await chunks.add(shared.subarray(0, 400), done);
    for (let count = 0; count < 20; count += 1) await chunks.add(shared.subarray(400, 1000), done);
    expect(shared.buffer.byteLength).to.equal(1000);
    for (let count = 0; count < 20; count += 1) await chunks.add(next.subarray(0, 100), done);
    expect(shared.buffer.byteLength).to.equal(0);
    expect(next.buffer.byteLength).to.equal(1000);
    await chunks.drain();
    expect(next.buffer.byteLength).to.equal(0);
  });

  it("keeps memory while it is being written", async () => {
    const chunks = createChunksInUse();
    const writing = Promise.withResolvers<undefined>();
    const slow = Buffer.allocUnsafeSlow(1000);
    await chunks.add(
      slow,
      writing.promise.then(() => undefined),
    );
    const drained = chunks.drain();
    expect(slow.length).to.equal(1000);
    writing.resolve(undefined);
    await drained;
    expect(slow.length).to.equal(0);
  });

  it("reports a failed write", async () => {
    const chunks = createChunksInUse();
    await chunks.add(Buffer.allocUnsafeSlow(10), Promise.reject(new Error("The disk is full.")));
    const [result] = await Promise.allSettled([chunks.drain()]);
    expect(result).to.have.nested.property("reason.message", "The disk is full.");
  });
});
