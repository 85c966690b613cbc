import { expect } from "chai";
import { DomainError } from "#api/errors.ts";
import { StoreLook } from "#api/http/storeLook.ts";
import { FakeClock } from "../../../support/clocks/fakeClock.ts";

describe("StoreLook", () => {
  let clock: FakeClock;
  let questions: PromiseWithResolvers<undefined>[];
  let look: StoreLook;

  beforeEach(() => {
    clock = new FakeClock();
    questions = [];
    look = new StoreLook({
      clock, keptMs: 1_000, message: "It does not answer.",
      ask: () => {
        const question = Promise.withResolvers<undefined>();
        questions.push(question);
        return question.promise.then(() => undefined);
      },
    });
  });

  it("asks once for all who come while it looks, and for a second afterwards", async () => {
    const checks = [look.check(), look.check()];
    await clock.advance(1_999);
    checks.push(look.check());
    questions[0]?.resolve(undefined);
    await Promise.all(checks);
    await clock.advance(999);
    await look.check();
    expect(questions).to.have.length(1);
    await clock.advance(1);
    const next = look.check();
    expect(questions).to.have.length(2);
    questions[1]?.resolve(undefined);
    await next;
  });

  it("tells a failure for as long, and then looks again", async () => {
    const failed = look.check();
    questions[0]?.reject(new Error("no"));
    for (const check of [failed, look.check()]) {
      expect(await check.catch((error: unknown) => error)).to.be.instanceOf(DomainError).with.property("code", "unavailable");
    }
    await clock.advance(1_000);
    const next = look.check();
    questions[1]?.resolve(undefined);
    await next;
  });

  it("asks a store that hangs no second time", async () => {
    for (const count of [1, 2]) {
      const failed = look.check().catch((error: unknown) => error);
      await clock.advance(2_000);
      expect(await failed, String(count)).to.be.instanceOf(DomainError);
      await clock.advance(1_000);
    }
    expect(questions).to.have.length(1);
  });
});
