import { expect } from "chai";
import { randomBytes } from "node:crypto";
import { aUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import type { ApiClient, ApiResponse } from "#test/support/http/apiClient.ts";
import { csrfToken } from "#test/support/http/authForms.ts";
import { mannWhitneyZ, medianErrorOf, medianOf } from "#test/bench/mannWhitney.ts";

const kinds = ["known", "unknown", "withoutPassword"] as const;
type Kind = (typeof kinds)[number];

/** Per kind and round. Four failures are allowed for each address, and each try comes from another place. */
const tries = 100;
const roundsMax = 3;

describe("the existence of an account", function () {
  this.timeout(60_000);
  let api: TestApi;
  let browser: ApiClient;
  let token: string;
  let place = 0;

  before(async () => {
    // Slow enough that the check is most of the time, as it is in production, and quick enough to be made
    // often.
    api = await TestApi.start({ env: { TRUSTED_PROXIES: "1", BCRYPT_COST: "7" } });
    await api.deps.passwords.warmUp();
    browser = api.anonymous();
    token = await csrfToken(browser);
  });
  after(() => api.stop());

  function attempt(email: string, csrf = token): Promise<ApiResponse> {
    place += 1;
    return browser.post(
      "/api/auth/callback/credentials",
      new URLSearchParams({ email, password: "wrong", csrfToken: csrf, json: "true" }),
      { "x-forwarded-for": `10.${place >> 16}.${(place >> 8) & 255}.${place & 255}` },
    );
  }

  /** An address of which the API has no opinion yet; all are of one length. */
  async function addressOf(kind: Kind): Promise<string> {
    const email = `${randomBytes(8).toString("hex")}@example.test`;
    if (kind === "unknown") return email;
    await aUser(api.deps, { email });
    if (kind === "withoutPassword")
      await api.deps.postgres.prisma.user.update({ where: { email }, data: { passwordHash: null } });
    return email;
  }

  it("is not revealed by the response time", async () => {
    const times: Record<Kind, number[]> = { known: [], unknown: [], withoutPassword: [] };
    let report = "";
    // A busy machine can make a few samples look uneven; more of them tell a leak from chance.
    for (let round = 0; round < roundsMax; round += 1) {
      await measure(times);
      const against = (kind: Kind): { z: number; apart: number; mayBeApart: number } => ({
        z: mannWhitneyZ(times.known, times[kind]),
        apart: Math.abs(medianOf(times[kind]) / medianOf(times.known) - 1),
        mayBeApart: Math.max(0.05, 3 * medianErrorOf(times.known)),
      });
      const results = [against("unknown"), against("withoutPassword")];
      report = JSON.stringify(results);
      if (results.every(({ z, apart, mayBeApart }) => Math.abs(z) < 4 && apart < mayBeApart)) return;
    }
    expect.fail(`Responses take their own time: ${report}`);
  });

  it("would be revealed by the response time if no password were checked", async () => {
    const [checked, unchecked]: [number[], number[]] = [[], []];
    for (let index = 0; index < 20; index += 1) {
      checked.push(await timed(await addressOf("unknown")));
      unchecked.push(await timed(await addressOf("unknown"), "no token"));
    }
    expect(mannWhitneyZ(checked, unchecked)).to.be.greaterThan(4);
  });

  async function measure(times: Record<Kind, number[]>): Promise<void> {
    let addresses: Record<Kind, string> | undefined;
    for (let index = 0; index < tries; index += 1) {
      if (addresses === undefined || index % 4 === 0) {
        addresses = {
          known: await addressOf("known"),
          unknown: await addressOf("unknown"),
          withoutPassword: await addressOf("withoutPassword"),
        };
      }
      // Each kind is as often first as the others.
      for (let offset = 0; offset < kinds.length; offset += 1) {
        const kind = kinds[(index + offset) % kinds.length] ?? "known";
        times[kind].push(await timed(addresses[kind]));
      }
    }
  }

  async function timed(email: string, csrf = token): Promise<number> {
    const started = performance.now();
    await attempt(email, csrf);
    return performance.now() - started;
  }
});
