import { expect } from "chai";
import {
  createReconciler,
  PassInterrupted,
  type ReconcilerParts,
  soonestMs,
  type StepOutcome,
} from "#kube/controllers/reconciler.ts";
import { silentLogger } from "#runtime/logger.ts";

type Name = "first" | "second";
type Parts = ReconcilerParts<string, { steps: readonly Name[] }, Name, string[]>;

const context = { signal: new AbortController().signal, logger: silentLogger };

function stepsEndingWith(first: StepOutcome, second: StepOutcome = "wait"): Parts["steps"] {
  const run = (name: Name, outcome: StepOutcome) => (pass: string[]) => {
    pass.push(name);
    return outcome;
  };
  return { first: run("first", first), second: run("second", second) };
}

describe("createReconciler", () => {
  let pass: string[];

  beforeEach(() => {
    pass = [];
  });

  function reconcile(parts: Partial<Parts>) {
    return createReconciler<string, { steps: readonly Name[] }, Name, string[]>({
      observe: (key) => key,
      decide: () => ({ steps: ["first", "second"] }),
      begin: () => pass,
      steps: stepsEndingWith("done"),
      ...parts,
    })("key", context);
  }

  it("does nothing when there is nothing to observe", async () => {
    const outcome = await reconcile({
      observe: () => undefined,
      decide: () => expect.fail("it decides without a world"),
    });
    expect(outcome).to.equal(undefined);
  });

  it("runs the steps in the order of the plan and then commits", async () => {
    const commit = (done: string[]) => Promise.resolve(done.push("commit") > 0);
    await reconcile({ steps: stepsEndingWith("done", "done"), commit });
    expect(pass).to.deep.equal(["first", "second", "commit"]);
  });

  it("ends the pass at a step that waits, and still commits", async () => {
    const commit = (done: string[]) => Promise.resolve(done.push("commit") > 0);
    await reconcile({ steps: stepsEndingWith("wait"), commit });
    expect(pass).to.deep.equal(["first", "commit"]);
  });

  it("requeues after the result of a step or the next look, whichever comes first", async () => {
    const steps = stepsEndingWith({ requeueAfterMs: 500 });
    expect(await reconcile({ steps })).to.deep.equal({ requeueAfterMs: 500 });
    expect(await reconcile({ steps, nextLookMs: () => 200 })).to.deep.equal({ requeueAfterMs: 200 });
    expect(await reconcile({ steps, nextLookMs: () => undefined })).to.deep.equal({ requeueAfterMs: 500 });
  });

  it("repeats the pass soon when the commit finds the object changed", async () => {
    const outcome = await reconcile({ commit: () => Promise.resolve(false), nextLookMs: () => 60_000 });
    expect(outcome).to.deep.equal({ requeueAfterMs: 50 });
  });

  it("immediately repeats a pass that a step interrupted, without a commit", async () => {
    const steps: Parts["steps"] = {
      ...stepsEndingWith("done"),
      second: () => Promise.reject(new PassInterrupted("The turn has passed.")),
    };
    const commit = () => expect.fail("it commits an interrupted pass");
    expect(await reconcile({ steps, commit })).to.deep.equal({ requeueAfterMs: 0 });
  });

  it("leaves other failures to the controller's backoff", async () => {
    const steps: Parts["steps"] = {
      ...stepsEndingWith("done"),
      second: () => Promise.reject(new Error("The API server is away.")),
    };
    const failure = await Promise.resolve(reconcile({ steps })).catch((error: unknown) => error);
    expect(failure).to.have.property("message", "The API server is away.");
  });
});

describe("soonestMs", () => {
  it("returns the shortest wait, and undefined without one", () => {
    expect(soonestMs([undefined, 300, Number.POSITIVE_INFINITY, 0])).to.equal(0);
    expect(soonestMs([undefined, Number.POSITIVE_INFINITY])).to.equal(undefined);
  });
});
