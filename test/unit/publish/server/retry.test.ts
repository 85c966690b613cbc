import { expect } from "chai";
import { UnreachableError } from "#publish/server/httpClient.ts";
import { withRetries, type RetryContext } from "#publish/server/retry.ts";
import { ServerError } from "#publish/server/serverError.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

const address = new URL("https://joypod.example");

function refusal(status: number, error: string, retryAfter?: string): ServerError {
  const text = JSON.stringify({ error, message: "No." });
  return new ServerError({
    status,
    text,
    header: (name) => (name === "retry-after" ? retryAfter : undefined),
  });
}

describe("withRetries", () => {
  let clock: FakeClock;
  let delays: number[];
  let context: RetryContext;

  beforeEach(() => {
    clock = new FakeClock();
    delays = [];
    const { signal } = new AbortController();
    context = { clock, random: () => 1, signal, onRetry: (_error, delayMs) => delays.push(delayMs) };
  });

  /** Runs work that fails with each error in turn, and then succeeds. */
  async function outcomeOf(attempts: number, ...errors: Error[]): Promise<unknown> {
    const work = (): Promise<string> => {
      const error = errors.shift();
      return error === undefined ? Promise.resolve("done") : Promise.reject(error);
    };
    const outcome = withRetries(context, attempts, work).catch((error: unknown) => error);
    await clock.advance(1_000_000);
    return outcome;
  }

  it("waits longer after each failure of the network or a proxy", async () => {
    const broken = new UnreachableError(address, new Error("ECONNRESET"));
    expect(await outcomeOf(5, broken, refusal(502, ""), broken)).to.equal("done");
    expect(delays).to.deep.equal([1000, 2000, 4000]);
  });

  it("waits as long as the server asks, but not for an hour", async () => {
    expect(await outcomeOf(5, refusal(429, "rate_limited", "40"))).to.equal("done");
    expect(delays).to.deep.equal([40_000]);
    const tooLong = refusal(429, "rate_limited", "3000");
    expect(await outcomeOf(5, tooLong)).to.equal(tooLong);
  });

  it("gives up after the last attempt, and at once if a retry is useless", async () => {
    const broken = new UnreachableError(address, new Error("ECONNRESET"));
    expect(await outcomeOf(2, broken, broken)).to.equal(broken);
    const refused = refusal(422, "invalid_archive");
    expect(await outcomeOf(5, refused)).to.equal(refused);
    const untrusted = new UnreachableError(
      address,
      Object.assign(new Error("self-signed certificate"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" }),
    );
    expect(await outcomeOf(5, untrusted)).to.equal(untrusted);
    expect(untrusted.message).to.include("NODE_EXTRA_CA_CERTS");
  });
});
