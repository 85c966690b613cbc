import { expect } from "chai";
import { request as httpRequest } from "node:http";
import { aGame, aPartner, type TestPartner } from "#test/factories/catalog.ts";
import { createPartnerKey } from "#api/partners/keyFormat.ts";
import { limits } from "#contracts/limits.ts";
import { sendTraffic } from "#test/support/http/traffic.ts";
import { StatementLog } from "#test/support/stores/statementLog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient } from "#test/support/http/apiClient.ts";
import { responseTo } from "#test/support/http/httpResponse.ts";

const path = "/api/partners/games";

describe("partners' API keys", function () {
  this.timeout(60_000);
  let api: TestApi;
  let partner: TestPartner;
  let client: ApiClient;

  before(async () => {
    api = await TestApi.start();
  });
  beforeEach(async () => {
    partner = await aPartner(api.deps);
    client = api.asPartner(partner);
  });
  after(() => api.stop());

  it("are required on every partner route, with the partners' error format", async () => {
    const { slug } = await aGame(api.deps, { partnerId: partner.id });
    const routes = [
      ["GET", path],
      ["POST", path],
      ["GET", `${path}/${slug}`],
      ["PATCH", `${path}/${slug}`],
      ["PUT", `${path}/${slug}/upload`],
      ["GET", `${path}/${slug}/sync`],
      ["DELETE", `${path}/${slug}`],
    ] as const;
    for (const [method, address] of routes) {
      const response = await api.anonymous().request(method, address);
      expectErrorResponse(response, 401, "unauthorized");
      expect(response.headers.get("www-authenticate")).to.match(/^Bearer/);
      expect(response.json<{ message: string }>().message).to.be.a("string");
    }
  });

  it("are refused if they are wrong, revoked or expired, or if the partner is suspended", async () => {
    const wrong = api.asPartner({ key: partner.key.slice(0, -1) + (partner.key.endsWith("0") ? "1" : "0") });
    expectErrorResponse(await wrong.get(path), 401, "unauthorized");
    const { prisma } = api.deps.postgres;
    await prisma.partnerKey.update({
      where: { id: partner.keyId },
      data: { expiresAt: new Date(Date.now() - 1000) },
    });
    expectErrorResponse(await client.get(path), 401, "unauthorized");
    await prisma.partnerKey.update({
      where: { id: partner.keyId },
      data: { expiresAt: null, revokedAt: new Date() },
    });
    expectErrorResponse(await client.get(path), 401, "unauthorized");
    await prisma.partnerKey.update({ where: { id: partner.keyId }, data: { revokedAt: null } });
    await prisma.partner.update({ where: { id: partner.id }, data: { suspendedAt: new Date() } });
    expectErrorResponse(await client.get(path), 403, "forbidden");
  });

  it("are refused if they are truncated, given twice, or of another kind", async () => {
    const { authorization } = { authorization: `Bearer ${partner.key}` };
    expect(await statusOf({ authorization })).to.equal(200);
    expect(
      await statusOf({ authorization: `bearer  ${partner.key}` }),
      "the scheme's case does not matter",
    ).to.equal(200);
    const near = [
      `Bearer ${partner.key.slice(0, -1)}`,
      `Bearer ${partner.key}x`,
      `Bearer ${partner.key},${partner.key}`,
      `Basic ${partner.key}`,
      partner.key,
      `Bearer ${partner.key.toUpperCase()}`,
      `Bearer ${partner.key.replace("live", "test")}`,
    ];
    for (const text of near) expect(await statusOf({ authorization: text }), text).to.equal(401);
    const other = await aPartner(api.deps);
    expect(await statusOf({ authorization: [authorization, authorization] })).to.equal(401);
    expect(await statusOf({ authorization: [authorization, `Bearer ${other.key}`] })).to.equal(401);
  });

  it("are limited by address before the database is queried if they are unknown; those in use are not", async () => {
    const limited = await TestApi.start({ database: api.database, env: { TRUSTED_PROXIES: "1" } });
    const log = new StatementLog(limited.deps.postgres.pool);
    const known = limited.asPartner(partner);
    const from = (address: string) => ({ "x-forwarded-for": address });
    const most = limits.partner.unknownKeysPerIpPerMinute;
    const guess = (secret = createPartnerKey().key) =>
      limited.asPartner({ key: secret }).get(path, from("198.51.100.7"));
    try {
      expect((await known.get(path, from("198.51.100.7"))).status).to.equal(200);
      const { statuses } = await sendTraffic(most, () => guess());
      expect(statuses).to.deep.equal({ 401: most });
      const asked = await log.during(async () => {
        const refused = await guess();
        expectErrorResponse(refused, 429, "rate_limited");
        expect(refused.headers.get("ratelimit-policy")).to.equal(`"unknownKeys";q=${most};w=60`);
        expect(Number(refused.headers.get("retry-after"))).to.be.within(1, 60);
      });
      expect(asked).to.not.include("find-partner-key");
      expect((await known.get(path, from("198.51.100.7"))).status).to.equal(200);
      const other = limited.asPartner(await aPartner(limited.deps));
      expectErrorResponse(await other.get(path, from("198.51.100.7")), 429, "rate_limited");
      for (let use = 0; use <= most; use += 1)
        expect(
          (await limited.asPartner(await aPartner(limited.deps)).get(path, from("198.51.100.8"))).status,
        ).to.equal(200);
    } finally {
      await limited.stop();
    }
  });

  it("show their last use, and are not readable in the database or the log", async () => {
    const lastUse = async (): Promise<Date | null> =>
      (await api.deps.postgres.prisma.partnerKey.findUniqueOrThrow({ where: { id: partner.keyId } }))
        .lastUsedAt;
    expect(await lastUse()).to.be.null;
    await client.get(path);
    const first = await lastUse();
    expect(Date.now() - first!.getTime()).to.be.within(-1000, 30_000);
    await client.get(path);
    expect(await lastUse(), "not written for every request").to.deep.equal(first);
    const secret = partner.key.split("_").at(-1)!;
    expect(JSON.stringify(await api.deps.postgres.prisma.partnerKey.findMany())).to.not.contain(secret);
    expect(api.logLines.join("\n")).to.not.contain(secret);
  });

  it("allow a hundred requests a minute, and refuse the hundred and first", async () => {
    const statuses = await Promise.all(
      Array.from({ length: 101 }, async () => (await client.get(path)).status),
    );
    expect(statuses.filter((status) => status === 200)).to.have.length(100);
    const refused = await client.get(path);
    expectErrorResponse(refused, 429, "rate_limited");
    expect(Number(refused.headers.get("retry-after"))).to.be.within(1, 60);
    expect(refused.json<{ message: string }>().message).to.be.a("string");
    expect((await api.asPartner(await aPartner(api.deps)).get(path)).status).to.equal(200);
  });

  /** Over a plain request, in which a header can stand twice. */
  async function statusOf(headers: Record<string, string | string[]>): Promise<number> {
    const request = httpRequest(api.url + path);
    for (const [name, value] of Object.entries(headers)) request.setHeader(name, value);
    return (await responseTo(request.end())).status;
  }
});
