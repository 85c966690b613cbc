import { expect } from "chai";
import { randomBytes } from "node:crypto";
import { aUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient, type ApiResponse } from "#test/support/http/apiClient.ts";
import { csrfToken } from "#test/support/http/authForms.ts";
import { StatementLog } from "#test/support/stores/statementLog.ts";

const kinds = ["known", "unknown", "withoutPassword"] as const;
type Kind = (typeof kinds)[number];

const bcryptCost = 5;

describe("the existence of an account", function () {
  this.timeout(60_000);
  let api: TestApi;
  let browser: ApiClient;
  let token: string;
  let place = 0;

  before(async () => {
    api = await TestApi.start({ env: { TRUSTED_PROXIES: "1", BCRYPT_COST: String(bcryptCost) } });
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

  it("is not revealed by any byte of the response, locked or not", async () => {
    const seen = new Map<number, Set<string>>();
    for (const kind of kinds) {
      const email = await addressOf(kind);
      for (let failure = 1; failure <= 6; failure += 1) {
        const response = await attempt(email);
        expectErrorResponse(
          response,
          failure <= 5 ? 401 : 429,
          failure <= 5 ? "invalid_credentials" : "locked",
        );
        const headers = [...response.headers].filter(([name]) => name !== "date" && name !== "x-request-id");
        const { requestId, ...body } = response.json();
        expect(requestId).to.be.a("string");
        const whole = JSON.stringify([response.status, headers, body, response.text.length]);
        seen.set(failure, (seen.get(failure) ?? new Set()).add(whole));
      }
    }
    for (const [failure, responses] of seen) expect([...responses], `failure ${failure}`).to.have.length(1);
  });

  it("is not revealed by the work for a response: statements and rounds of bcrypt", async () => {
    const log = new StatementLog(api.deps.postgres.pool);
    const work = async (email: string, csrf = token) => {
      const before = await roundsOfBcrypt();
      const statements = await log.during(() => attempt(email, csrf));
      return { statements, rounds: (await roundsOfBcrypt()) - before };
    };
    const known = await work(await addressOf("known"));
    expect(known.statements).to.not.have.length(0);
    expect(known.rounds).to.equal(2 ** bcryptCost);
    for (const kind of kinds) expect(await work(await addressOf(kind)), kind).to.deep.equal(known);
    const unchecked = await work(await addressOf("known"), "no token");
    expect(unchecked.rounds, "without a check of the password").to.equal(0);
  });

  async function roundsOfBcrypt(): Promise<number> {
    const { values } = await api.deps.metrics.registry.getSingleMetric("joypod_password_rounds_total")!.get();
    return values[0]?.value ?? 0;
  }
});
