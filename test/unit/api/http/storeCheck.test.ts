import { expect } from "chai";
import { DomainError } from "#api/errors.ts";
import { StoreCheck } from "#api/http/health.ts";
import { silentLogger } from "#runtime/logger.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

describe("StoreCheck", () => {
  let clock: FakeClock;
  let questions: PromiseWithResolvers<undefined>[];
  let look: StoreCheck;
  let lines: string[];
  const refusedKey = new Error("refused");
  const told = (fields: Record<string, unknown>, sentence: string): void =>
    void lines.push(`${sentence} ${String(fields.reason ?? fields.former)}`);
  const logger = { ...silentLogger, warn: told, info: told };

  beforeEach(() => {
    clock = new FakeClock();
    questions = [];
    lines = [];
    look = new StoreCheck({
      clock,
      keptMs: 1_000,
      message: "It does not answer.",
      explain: (error) => (error === refusedKey ? "It refuses the key." : undefined),
      logger,
      ask: () => {
        const question = Promise.withResolvers<undefined>();
        questions.push(question);
        return question.promise.then(() => undefined);
      },
    });
  });

  it("checks once for all concurrent callers, and for a second afterwards", async () => {
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

  it("repeats a failure for a second, and then checks again", async () => {
    const failed = look.check();
    questions[0]?.reject(new Error("no"));
    for (const check of [failed, look.check()]) {
      expect(await check.catch((error: unknown) => error))
        .to.be.instanceOf(DomainError)
        .with.property("code", "unavailable");
    }
    await clock.advance(1_000);
    const next = look.check();
    questions[1]?.resolve(undefined);
    await next;
  });

  it("sends no second request to a hanging store", async () => {
    for (const count of [1, 2]) {
      const failed = look.check().catch((error: unknown) => error);
      await clock.advance(2_000);
      expect(await failed, String(count)).to.be.instanceOf(DomainError);
      await clock.advance(1_000);
    }
    expect(questions).to.have.length(1);
  });

  it("explains a configuration problem, and logs each change once", async () => {
    const outcomes: [unknown, string | undefined][] = [
      [undefined, undefined],
      [new Error("gone"), "It does not answer."],
      [new Error("still gone"), "It does not answer."],
      [refusedKey, "It refuses the key."],
      [undefined, undefined],
      [undefined, undefined],
    ];
    for (const [at, [error, message]] of outcomes.entries()) {
      await clock.advance(2_000);
      const check = look.check().then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      if (error === undefined) questions[at]?.resolve(undefined);
      else questions[at]?.reject(error);
      const thrown = await check;
      expect(thrown instanceof DomainError ? thrown.message : thrown).to.equal(message);
    }
    expect(lines).to.deep.equal([
      "A store is unavailable. It does not answer.",
      "A store is unavailable. It refuses the key.",
      "A store is available again. It refuses the key.",
    ]);
  });
});
