import { expect } from "chai";
import { BoundedQueue } from "#runtime/scheduling/boundedQueue.ts";

const patient = 60_000;
const tooMany = (): Error => new Error("too many");

describe("BoundedQueue", () => {
  let gate: PromiseWithResolvers<undefined>;
  let entered: string[];

  beforeEach(() => {
    gate = Promise.withResolvers();
    entered = [];
  });

  /** A queue whose only slot is taken until the gate opens. */
  function aFullQueue({
    waitingMax = 10,
    deadlineMs = patient,
  }: { waitingMax?: number; deadlineMs?: number } = {}): BoundedQueue {
    const queue = new BoundedQueue({ concurrency: 1, waitingMax, deadlineMs, tooMany });
    void queue.run(() => gate.promise);
    return queue;
  }

  const enter = (name: string) => (): Promise<void> => {
    entered.push(name);
    return Promise.resolve();
  };
  /** Returns the error if the run fails before all ready work has run; undefined otherwise. */
  const thrownAtOnce = (run: Promise<unknown>): Promise<unknown> =>
    Promise.race([
      run.then(
        () => undefined,
        (error: unknown) => error,
      ),
      new Promise((resolve) => setImmediate(resolve, undefined)),
    ]);

  it("runs by priority, then in order of arrival", async () => {
    const queue = aFullQueue();
    const waiting = [
      ["a", 0],
      ["b", 2],
      ["c", -1],
      ["d", 2],
      ["e", 1],
    ] as const;
    const runs = waiting.map(([name, priority]) => queue.run(enter(name), { priority }));
    runs.push(queue.run(enter("f")));
    gate.resolve(undefined);
    await Promise.all(runs);
    expect(entered).to.deep.equal(["b", "d", "e", "a", "f", "c"]);
  });

  it("rejects immediately when too many wait, even at the highest priority", async () => {
    const queue = aFullQueue({ waitingMax: 1 });
    const waiting = queue.run(enter("waiting"));
    expect(await thrownAtOnce(queue.run(enter("refused"), { priority: 9 })))
      .to.be.instanceOf(Error)
      .with.property("message", "too many");
    gate.resolve(undefined);
    await waiting;
    expect(entered).to.deep.equal(["waiting"]);
  });

  it("rejects work that waited too long and never runs it", async () => {
    const queue = aFullQueue({ deadlineMs: 1 });
    expect(await queue.run(enter("late")).catch(String)).to.equal("Error: too many");
    gate.resolve(undefined);
    await queue.run(enter("next"));
    expect(entered).to.deep.equal(["next"]);
  });

  it("rejects waiting work with the signal's reason and never runs it", async () => {
    const queue = aFullQueue();
    const wait = new AbortController();
    const waiting = queue.run(enter("ended"), { signal: wait.signal });
    wait.abort(new Error("look again"));
    expect(await thrownAtOnce(waiting))
      .to.be.instanceOf(Error)
      .with.property("message", "look again");
    gate.resolve(undefined);
    await queue.run(enter("next"));
    expect(entered).to.deep.equal(["next"]);
  });

  it("ignores the signal once work has started", async () => {
    const queue = new BoundedQueue({
      concurrency: 1,
      waitingMax: 1,
      deadlineMs: 10_000,
      tooMany: () => new Error("too many"),
    });
    const gone = new AbortController();
    const ended = Promise.withResolvers<string>();
    const begun = queue.run(() => ended.promise, { signal: gone.signal });
    const next = queue.run(enter("next"));
    gone.abort(new Error("gone"));
    await new Promise(setImmediate);
    expect(entered).to.deep.equal([]);
    ended.resolve("done");
    expect(await begun).to.equal("done");
    await next;
  });
});
