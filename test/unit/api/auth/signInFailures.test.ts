import { expect } from "chai";
import { Redis } from "ioredis";
import type { Attempt } from "#api/auth/lockout.ts";
import { SignInFailures, type OverLimit } from "#api/auth/signInFailures.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";

const place = "192.0.2.1";

describe("SignInFailures without Redis", () => {
  let failures: SignInFailures;
  beforeEach(() => {
    const redis = new Redis({ lazyConnect: true });
    redis.disconnect();
    failures = new SignInFailures(redis, systemClock, { points: 3, windowSeconds: 900 });
  });

  /** Begins an attempt that is allowed. */
  async function begin(): Promise<Attempt> {
    const attempt = await failures.begin(place);
    if (attempt?.isAllowed !== true) throw new Error("The attempt was not allowed.");
    return attempt;
  }

  async function fail(times: number): Promise<void> {
    for (let attempt = 0; attempt < times; attempt += 1) await (await begin()).failed();
  }

  it("refuses a network at the limit until the window ends, and marks the first refused attempt", async () => {
    await fail(3);
    const refused: (Attempt | OverLimit | undefined)[] = [];
    for (let attempt = 0; attempt < 3; attempt += 1) refused.push(await failures.begin(place));
    expect(refused.map((attempt) => attempt?.isAllowed === false && attempt.isFirst)).to.deep.equal([
      true,
      false,
      false,
    ]);
    expect(refused[2]).to.have.property("retryAfterSeconds").within(890, 900);
    expect(await failures.begin("192.0.2.2")).to.have.property("isAllowed", true);
  });

  it("returns undefined while the result depends on attempts in flight", async () => {
    await fail(1);
    const [right, wrong] = [await begin(), await begin()];
    expect(await failures.begin(place)).to.equal(undefined);
    await wrong.failed();
    expect(await failures.begin(place)).to.equal(undefined);
    await right.succeeded();
    await fail(1);
    expect(await failures.begin(place)).to.have.property("isAllowed", false);
  });

  it("counts neither right passwords nor cancelled attempts", async () => {
    for (let round = 0; round < 5; round += 1) {
      await (await begin()).succeeded();
      await (await begin()).cancelled();
    }
    await fail(3);
  });

  it("allows no more concurrent attempts than sequential ones", async () => {
    const begun = await Promise.all(Array.from({ length: 10 }, () => failures.begin(place)));
    const attempts = begun.filter((attempt) => attempt?.isAllowed === true);
    expect(attempts).to.have.length(3);
    const [later] = await Promise.all([
      Promise.all(Array.from({ length: 10 }, () => failures.begin(place))),
      ...attempts.map((attempt) => attempt.failed()),
    ]);
    expect(later.filter((attempt) => attempt?.isAllowed === true)).to.be.empty;
    expect(await failures.begin(place)).to.have.property("isAllowed", false);
  });
});
