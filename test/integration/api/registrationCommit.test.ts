import { expect } from "chai";
import { aPartner } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { startPostgresGate } from "#test/support/crashPoints/postgresGate.ts";
import { Gate } from "#test/support/crashPoints/strike.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/stores/postgres.ts";

const nobody = { kill: () => Promise.resolve(), freeze: () => Promise.resolve(), wake: () => undefined };

describe("a registration whose commit succeeds without a response", function () {
  this.timeout(60_000);
  const gate = new Gate(nobody);
  let database: TestDatabase;
  let gated: { url: string; close: () => Promise<void> };
  let api: TestApi;

  before(async () => {
    database = await createTestDatabase();
    gated = await startPostgresGate({ gate, program: "api", url: database.url });
    api = await TestApi.start({ env: { DATABASE_URL: gated.url }, hasFaults: true });
  });
  after(async () => {
    await api.stop();
    await gated.close();
    await database.drop();
  });

  it("gets the first response when it is retried with its Idempotency-Key", async () => {
    const partner = await aPartner(api.deps);
    const client = api.asPartner(partner);
    const body = {
      slug: `lost-${partner.keyId}`,
      title: "Lost",
      developer: "Studio",
      launcher: "run.sh",
      engineDir: "engine",
    };
    const register = () => client.post("/api/partners/games", body, { "idempotency-key": "register" });
    gate.arm({
      program: "api",
      store: "database",
      what: "COMMIT of insert-game",
      nth: 1,
      mode: "response lost",
    });
    const lost = await register();
    expect(gate.hasStruck, JSON.stringify(gate.counts())).to.equal(true);
    expect(lost.status, lost.text).to.be.at.least(500);
    const again = await register();
    expect(again.status, again.text).to.equal(201);
    expect(again.headers.get("idempotency-replayed")).to.equal("true");
    expect(again.headers.get("location")).to.equal(`${api.url}/api/partners/games/${body.slug}`);
    expect(again.json()["id"]).to.equal(
      (await api.deps.postgres.prisma.game.findUniqueOrThrow({ where: { slug: body.slug } })).id,
    );
  });
});
