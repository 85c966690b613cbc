import { expect } from "chai";
import { WorkQueue } from "#kube/controllers/workQueue.ts";
import { FakeClock, settle } from "#test/support/clocks/fakeClock.ts";

describe("WorkQueue", () => {
  let clock: FakeClock;
  let queue: WorkQueue;

  beforeEach(() => {
    clock = new FakeClock();
    queue = new WorkQueue({ clock, random: () => 1 });
  });

  it("returns keys in order of arrival, each once however often it was added", async () => {
    for (const key of ["b", "a", "b", "b"]) queue.add(key);
    expect(queue.length).to.equal(2);
    expect([await queue.take(), await queue.take()]).to.deep.equal(["b", "a"]);
    expect(queue.length).to.equal(0);
  });

  it("gives a waiting worker the next key", async () => {
    const taken = queue.take();
    queue.add("a");
    expect(await taken).to.equal("a");
  });

  it("gives a key to one worker, and returns it again if it was added in the meantime", async () => {
    queue.add("a");
    await queue.take();
    queue.add("a");
    queue.add("a");
    const again = queue.take();
    expect(await isPending(again), "while the first worker has it").to.equal(true);
    queue.done("a");
    expect(await again).to.equal("a");
    queue.done("a");
    expect(queue.length, "added twice, but worked on once more only").to.equal(0);
  });

  it("adds a key after the earliest of several delays", async () => {
    queue.addAfter("a", 500);
    queue.addAfter("a", 100);
    queue.addAfter("a", 900);
    await clock.advance(99);
    expect(queue.length).to.equal(0);
    await clock.advance(1);
    expect(queue.length).to.equal(1);
    await queue.take();
    queue.done("a");
    await clock.advance(1000);
    expect(queue.length, "the later delays are gone").to.equal(0);
  });

  it("doubles the backoff of a failing key from 5 ms to 1000 s, until it is forgotten", () => {
    const waits = Array.from({ length: 20 }, () => queue.addRateLimited("a"));
    expect(waits.slice(0, 4)).to.deep.equal([5, 10, 20, 40]);
    expect(waits.at(-1)).to.equal(1_000_000);
    expect(queue.retries("a")).to.equal(20);
    queue.forget("a");
    expect(queue.addRateLimited("a")).to.equal(5);
  });

  it("randomizes the upper half of the backoff", () => {
    const early = new WorkQueue({ clock, random: () => 0 });
    expect([early.addRateLimited("a"), early.addRateLimited("a")]).to.deep.equal([2.5, 5]);
  });

  it("rejects a new key when it is full", () => {
    const small = new WorkQueue({ clock, maxKeys: 2 });
    expect([
      small.add("a"),
      small.addAfter("b", 10),
      small.add("c"),
      small.addAfter("d", 10),
      small.add("a"),
    ]).to.deep.equal([true, true, false, false, true]);
  });

  it("drops waiting keys and ends idle workers on shutdown, but lets running work finish", async () => {
    queue.add("a");
    await queue.take();
    queue.add("b");
    const idle = queue.take().then(async (b) => [b, await queue.take()]);
    queue.addAfter("c", 10);
    await settle();
    queue.shutDown();
    expect(await idle).to.deep.equal(["b", undefined]);
    expect(queue.add("d")).to.equal(false);
    expect(clock.pendingTimers).to.equal(0);
    queue.done("a");
    queue.done("b");
    expect(await queue.take()).to.equal(undefined);
  });

  it("returns ready keys and drops delayed ones when it drains", async () => {
    queue.add("a");
    queue.add("b");
    queue.addAfter("c", 10);
    queue.drain();
    expect([await queue.take(), await queue.take(), await queue.take()]).to.deep.equal(["a", "b", undefined]);
    expect(queue.add("d")).to.equal(false);
  });

  it("reports depth, waiting time and retries", async () => {
    const told: string[] = [];
    const measured = new WorkQueue({
      clock,
      metrics: {
        depth: (length) => told.push(`depth ${length}`),
        waited: (seconds) => told.push(`waited ${seconds}`),
        retried: () => told.push("retried"),
      },
    });
    measured.add("a");
    await clock.advance(1500);
    await measured.take();
    measured.addRateLimited("a");
    expect(told).to.deep.equal(["depth 1", "depth 0", "waited 1.5", "retried"]);
  });
});

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol("pending");
  await settle();
  return (await Promise.race([promise, Promise.resolve(pending)])) === pending;
}
