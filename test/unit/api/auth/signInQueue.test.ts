import { expect } from "chai";
import { createSignInQueue } from "#api/auth/signInTurns.ts";
import { DomainError } from "#api/errors.ts";

const patient = 60_000;

describe("createSignInQueue", () => {
  it("runs a bounded number at once, and the others in order of arrival", async () => {
    const queue = createSignInQueue({ concurrency: 2, waitingMax: 10, deadlineMs: patient });
    const entered: number[] = [];
    const gates = Array.from({ length: 5 }, () => Promise.withResolvers<undefined>());
    const passes = gates.map(({ promise }, index) =>
      queue.run(async () => {
        entered.push(index);
        await promise;
        return index;
      }),
    );
    expect(entered).to.deep.equal([0, 1]);
    for (const [index, gate] of gates.entries()) {
      gate.resolve(undefined);
      expect(await passes[index]).to.equal(index);
      expect(entered.length).to.be.at.most(index + 3);
    }
    expect(entered).to.deep.equal([0, 1, 2, 3, 4]);
  });

  it("frees the place of failed work", async () => {
    const queue = createSignInQueue({ concurrency: 1, waitingMax: 1, deadlineMs: patient });
    const failed = queue.run(() => Promise.reject(new Error("no")));
    const next = queue.run(() => Promise.resolve("in"));
    expect(await failed.catch((error: unknown) => String(error))).to.equal("Error: no");
    expect(await next).to.equal("in");
    expect(await queue.run(() => Promise.resolve("in again"))).to.equal("in again");
  });

  it("refuses work beyond the queue's length immediately", async () => {
    const queue = createSignInQueue({ concurrency: 1, waitingMax: 1, deadlineMs: patient });
    const gate = Promise.withResolvers<undefined>();
    const inside = queue.run(() => gate.promise);
    const waiting = queue.run(() => Promise.resolve("in"));
    const refused = queue.run(() => Promise.resolve("in, too")).catch((error: unknown) => error);
    expect(await Promise.race([refused, new Promise(setImmediate)]))
      .to.be.instanceOf(DomainError)
      .with.property("code", "unavailable");
    gate.resolve(undefined);
    await inside;
    expect(await waiting).to.equal("in");
  });

  it("refuses work that waits too long", async () => {
    const queue = createSignInQueue({ concurrency: 1, waitingMax: 1, deadlineMs: 1 });
    const gate = Promise.withResolvers<undefined>();
    const inside = queue.run(() => gate.promise);
    const error = await queue.run(() => Promise.resolve("late")).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(DomainError).with.property("code", "unavailable");
    gate.resolve(undefined);
    await inside;
    expect(await queue.run(() => Promise.resolve("in"))).to.equal("in");
  });
});
