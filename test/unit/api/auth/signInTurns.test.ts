import { expect } from "chai";
import { SignInTurns } from "#api/auth/signInTurns.ts";
import { DomainError } from "#api/errors.ts";

const patient = 60_000;

describe("SignInTurns", () => {
  it("retries after each call until there is a result", async () => {
    const turns = new SignInTurns({ waitingMax: 2, deadlineMs: patient, pauseMs: patient });
    const results = [undefined, "in"];
    let asked = 0;
    const first = Promise.withResolvers<undefined>();
    const taken = turns.take(["a"], () => {
      asked += 1;
      first.resolve(undefined);
      return Promise.resolve(results.shift());
    });
    turns.call("b");
    expect(asked).to.equal(0);
    turns.call("a");
    await first.promise;
    await new Promise(setImmediate);
    turns.call("a");
    expect(await taken).to.equal("in");
    expect(asked).to.equal(2);
  });

  it("retries after a call with any of its names", async () => {
    const turns = new SignInTurns({ waitingMax: 2, deadlineMs: patient, pauseMs: patient });
    const taken = ["first", "second"].map((result) =>
      turns.take(["network", result], () => Promise.resolve(result)),
    );
    turns.call("second");
    expect(await taken[1]).to.equal("second");
    turns.call("network");
    expect(await taken[0]).to.equal("first");
  });

  it("also retries at intervals", async () => {
    const turns = new SignInTurns({ waitingMax: 1, deadlineMs: patient, pauseMs: 1 });
    expect(await turns.take(["a"], () => Promise.resolve("in"))).to.equal("in");
  });

  it("refuses a sign-in immediately if too many are waiting", async () => {
    const turns = new SignInTurns({ waitingMax: 1, deadlineMs: patient, pauseMs: patient });
    const inside = turns.take(["a"], () => Promise.resolve("in"));
    const refused = turns.take(["a"], () => Promise.resolve("in, too")).catch((error: unknown) => error);
    const first = await Promise.race([refused, new Promise(setImmediate)]);
    expect(first).to.be.instanceOf(DomainError).with.property("code", "unavailable");
    turns.call("a");
    expect(await inside).to.equal("in");
    const next = turns.take(["a"], () => Promise.resolve("in again"));
    turns.call("a");
    expect(await next).to.equal("in again");
  });

  it("refuses a sign-in that has waited too long, and frees its place", async () => {
    const turns = new SignInTurns({ waitingMax: 1, deadlineMs: 5, pauseMs: 1 });
    const error = await turns
      .take(["a"], () => Promise.resolve(undefined))
      .catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(DomainError).with.property("code", "unavailable");
    expect(await turns.take(["a"], () => Promise.resolve("in"))).to.equal("in");
  });
});
