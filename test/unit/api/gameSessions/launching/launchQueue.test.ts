import { expect } from "chai";
import { launchPatienceMs, LaunchQueue } from "#api/gameSessions/launching/launchQueue.ts";
import { FakeClock, settle } from "#test/support/clocks/fakeClock.ts";

describe("LaunchQueue", () => {
  let clock: FakeClock;
  let turns: LaunchQueue;
  let begun: string[];

  beforeEach(() => {
    clock = new FakeClock();
    turns = new LaunchQueue(clock);
    begun = [];
  });

  function work(name: string) {
    const ended = Promise.withResolvers<string>();
    const run = (): Promise<string> => {
      begun.push(name);
      return ended.promise;
    };
    return { run, end: () => ended.resolve(name), fail: () => ended.reject(new Error(name)) };
  }

  it("runs a player's launches one after another, even after a failure, and other players' at once", async () => {
    const [a, b, other] = [work("a"), work("b"), work("other")];
    const first = turns.runAfterEarlier("one", a.run).catch((error: unknown) => error);
    const second = turns.runAfterEarlier("one", b.run);
    void turns.runAfterEarlier("two", other.run);
    await settle();
    expect(begun).to.deep.equal(["a", "other"]);
    a.fail();
    await first;
    await settle();
    expect(begun).to.deep.equal(["a", "other", "b"]);
    b.end();
    other.end();
    expect(await second).to.equal("b");
  });

  it("passes the latest result to a player's next launch, skipping failures", async () => {
    const told: (string | undefined)[] = [];
    const launch = (result?: string): Promise<string> =>
      turns.runAfterEarlier<string>("one", (before) => {
        told.push(before);
        return result === undefined ? Promise.reject(new Error("no")) : Promise.resolve(result);
      });
    await Promise.allSettled([launch(), launch("stored"), launch(), launch()]);
    await settle();
    await launch("later");
    expect(told).to.deep.equal([undefined, undefined, "stored", "stored", undefined]);
  });

  it("times out, and lets no launch overtake earlier ones", async () => {
    const [a, b, c] = [work("a"), work("b"), work("c")];
    const first = turns.runAfterEarlier("one", a.run);
    const second = turns.runAfterEarlier("one", b.run).catch((error: unknown) => error);
    await clock.advance(launchPatienceMs - 5_000);
    const third = turns.runAfterEarlier("one", c.run);
    await clock.advance(5_000);
    expect(await second).to.include({ code: "unavailable" });
    await settle();
    expect(begun).to.deep.equal(["a"]);
    a.end();
    c.end();
    expect([await first, await third]).to.deep.equal(["a", "c"]);
    expect(begun).to.deep.equal(["a", "c"]);
  });
});
