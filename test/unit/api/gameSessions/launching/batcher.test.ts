import { expect } from "chai";
import { Batcher } from "#api/gameSessions/launching/batcher.ts";
import { FakeClock, settle } from "#test/support/clocks/fakeClock.ts";

describe("Batcher", () => {
  let clock: FakeClock;
  let batches: {
    items: readonly string[];
    end: (results?: (string | Error)[]) => void;
    fail: (error: Error) => void;
  }[];
  let batcher: Batcher<string, string>;

  beforeEach(() => {
    clock = new FakeClock();
    batches = [];
    batcher = new Batcher<string, string>({
      clock,
      itemsMax: 3,
      waitingMax: 4,
      patienceMs: 1000,
      tooMany: () => new Error("too many"),
      isLasting: (error) => error instanceof Error && error.message === "the store is unavailable",
      work: (items) => {
        const done = Promise.withResolvers<(string | Error)[]>();
        batches.push({
          items,
          end: (results = items.map((item) => `${item} is done`)) => done.resolve(results),
          fail: (error) => done.reject(error),
        });
        return done.promise;
      },
    });
  });

  function doAll(...items: string[]): Promise<PromiseSettledResult<string>[]> {
    return Promise.allSettled(items.map((item) => batcher.process(item)));
  }

  it("processes a single item at once, and items that arrive during a batch together", async () => {
    const first = batcher.process("a");
    const others = doAll("b", "c", "d", "e");
    expect(batches.map(({ items }) => items)).to.deep.equal([["a"]]);
    batches[0]?.end();
    expect(await first).to.equal("a is done");
    await settle();
    batches[1]?.end();
    await settle();
    batches[2]?.end();
    expect(await others).to.deep.equal(
      ["b", "c", "d", "e"].map((item) => ({ status: "fulfilled", value: `${item} is done` })),
    );
    expect(batches.map(({ items }) => items)).to.deep.equal([["a"], ["b", "c", "d"], ["e"]]);
  });

  it("rejects an item with its own error, all items with a batch's error, and continues", async () => {
    const first = doAll("a");
    const both = doAll("b", "c");
    batches[0]?.fail(new Error("broken"));
    const [failed] = await first;
    expect(failed).to.nested.include({ status: "rejected", "reason.message": "broken" });
    await settle();
    batches[1]?.end([new Error("b is wrong"), "c is done"]);
    const [b, c] = await both;
    expect(b).to.nested.include({ status: "rejected", "reason.message": "b is wrong" });
    expect(c).to.deep.equal({ status: "fulfilled", value: "c is done" });
  });

  it("rejects waiting items on a lasting error, and processes later ones", async () => {
    const first = doAll("a");
    const others = doAll("b", "c", "d", "e");
    batches[0]?.fail(new Error("the store is unavailable"));
    for (const outcome of [...(await first), ...(await others)])
      expect(outcome).to.nested.include({ status: "rejected", "reason.message": "the store is unavailable" });
    const later = batcher.process("f");
    batches[1]?.end();
    expect(await later).to.equal("f is done");
    expect(batches.map(({ items }) => items)).to.deep.equal([["a"], ["f"]]);
  });

  it("rejects items that wait too long or exceed the queue limit", async () => {
    const first = batcher.process("a");
    const others = doAll("b", "c", "d", "e");
    const [tooMany] = await doAll("f");
    expect(tooMany).to.nested.include({ status: "rejected", "reason.message": "too many" });
    await clock.advance(1000);
    for (const other of await others)
      expect(other).to.nested.include({ status: "rejected", "reason.message": "too many" });
    // The batch has begun: its items wait for its end, however long that takes.
    batches[0]?.end();
    expect(await first).to.equal("a is done");
    const later = batcher.process("g");
    batches[1]?.end();
    expect(await later).to.equal("g is done");
    expect(batches.map(({ items }) => items)).to.deep.equal([["a"], ["g"]]);
  });
});
