import { expect } from "chai";
import { accountHashOf } from "#api/auth/tokens.ts";
import { aGame, aPartner, aUser, type TestPartner, type TestUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient } from "#test/support/http/apiClient.ts";
import { anArchive, archivedGame } from "#test/support/fixtures/archives.ts";
import { postSignIn, postSignOut } from "#test/support/http/authForms.ts";
import { exchange } from "#test/support/http/rawHttp.ts";
import { sendTraffic } from "#test/support/http/traffic.ts";

describe("of a request,", function () {
  this.timeout(60_000);
  let api: TestApi;
  let user: TestUser;
  let owner: TestPartner;
  let partner: ApiClient;

  before(async () => {
    api = await TestApi.start({ minio: true, env: { CATALOG_REQUESTS_PER_MINUTE: "5" } });
    user = await aUser(api.deps);
    owner = await aPartner(api.deps);
    partner = api.asPartner(owner);
    // The first use of the key is an event of its own.
    await partner.get("/api/partners/games");
  });
  after(() => api.stop());

  describe("the id", () => {
    it("is the caller's if it has the form of an id, in response and log", async () => {
      const given = "trace-0123456789.abcdef";
      const refused = await api.anonymous().get("/api/nothing", { "x-request-id": given });
      expect(refused.headers.get("x-request-id")).to.equal(given);
      expect(refused.json()).to.include({ requestId: given });
      expect(api.logLines.some((line) => line.includes(`"requestId":"${given}"`))).to.equal(true);
    });

    it("is generated if the caller's has another form", async () => {
      for (const given of [
        "short",
        "with space in it",
        "x".repeat(65),
        "-starts-with-a-dash",
        "semi;colon-0123",
        '{"json":"0123456"}',
        "ünïcödé-0123456",
      ]) {
        const headers = `GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Request-Id: ${given}\r\n\r\n`;
        expect(await exchange(api.url, Buffer.from(headers)), given).to.match(
          /^HTTP\/1\.1 200 [^]*X-Request-Id: [0-9a-z]{20}\r\n/i,
        );
      }
    });
  });

  describe("the audit events", () => {
    async function eventsOf(work: () => Promise<unknown>): Promise<{ action: string; details: unknown }[]> {
      const { prisma } = api.deps.postgres;
      await api.deps.audit.settled();
      const last = await prisma.auditEvent.findFirst({ orderBy: { id: "desc" } });
      await work();
      await api.deps.audit.settled();
      const events = await prisma.auditEvent.findMany({
        where: { id: { gt: last?.id ?? 0n } },
        orderBy: { id: "asc" },
      });
      for (const event of events) {
        expect(event.ipPrefix, event.action).to.equal("127.0.0.0/24");
        expect(event.requestId, event.action).to.match(/^[0-9a-z]{20}$/);
        expect(Date.now() - event.at.getTime(), event.action).to.be.within(-1_000, 60_000);
      }
      return events.map(({ action, details }) => ({ action, details }));
    }
    const actionsOf = async (work: () => Promise<unknown>): Promise<string[]> =>
      (await eventsOf(work)).map(({ action }) => action);

    it("record each sign-in, failure, lock and sign-out once", async () => {
      const browser = api.anonymous();
      expect(await actionsOf(() => postSignIn(browser, user))).to.deep.equal(["signIn.succeeded"]);
      expect(await actionsOf(() => postSignOut(browser))).to.deep.equal(["signOut"]);
      const victim = await aUser(api.deps);
      for (let attempt = 0; attempt < 5; attempt += 1) {
        expect(
          await actionsOf(() => postSignIn(api.anonymous(), { ...victim, password: "wrong" })),
        ).to.deep.equal(["signIn.failed"]);
      }
      expect(await actionsOf(() => postSignIn(api.anonymous(), victim))).to.deep.equal(["signIn.locked"]);
    });

    it("contain the same account hash for every spelling of an address, whether or not the account exists", async () => {
      const email = `nobody-${user.email}`;
      for (const written of [email, ` ${email.toUpperCase()}`, user.email])
        await postSignIn(api.anonymous(), { email: written, password: "wrong" });
      const failed = await api.deps.postgres.prisma.auditEvent.findMany({
        where: { action: "signIn.failed" },
        orderBy: { id: "desc" },
        take: 3,
      });
      const pepper = api.deps.config.auth.pepper;
      expect(failed.map(({ subjectKind, subjectId }) => [subjectKind, subjectId])).to.deep.equal(
        [user.email, email, email].map((address) => ["account", accountHashOf(pepper, address)]),
      );
      expect(failed[0]?.subjectId)
        .to.match(/^[0-9a-f]{32}$/)
        .and.not.equal(failed[1]?.subjectId);
    });

    it("record each change of a player's sign-in methods once, and a wrong password during one as a failed sign-in", async () => {
      const browser = api.as(await aUser(api.deps));
      const set = (fields: object): Promise<unknown> =>
        browser.put("/api/account/password", { newPassword: "a quite uncommon password", ...fields });
      expect(await eventsOf(() => set({}))).to.deep.equal([
        { action: "user.passwordChanged", details: { endedSignIns: 0 } },
      ]);
      expect(await actionsOf(() => set({ currentPassword: "wrong" }))).to.deep.equal(["signIn.failed"]);
      expect(await actionsOf(() => set({ newPassword: "password" }))).to.deep.equal([]);
      expect(await eventsOf(() => browser.delete("/api/account/sign-ins"))).to.deep.equal([
        { action: "user.signInsEnded", details: { endedSignIns: 0 } },
      ]);
      const {
        signIns: [own],
      } = (await browser.get("/api/account/sign-ins")).json<{ signIns: { signInId: string }[] }>();
      expect(await eventsOf(() => browser.delete(`/api/account/sign-ins/${own?.signInId}`))).to.deep.equal([
        { action: "user.signInsEnded", details: { endedSignIns: 1 } },
      ]);
    });

    it("record each change by a partner once, and no failed changes", async () => {
      const path = "/api/partners/games";
      const game = { title: "Trail", slug: "trail", developer: "Studio", ...archivedGame };
      const archive = await anArchive();
      const type = { "content-type": "application/gzip" };
      expect(await actionsOf(() => partner.post(path, game))).to.deep.equal(["game.registered"]);
      expect(await actionsOf(() => partner.post(path, game))).to.deep.equal([]);
      expect(await actionsOf(() => partner.post(path, { ...game, title: "" }))).to.deep.equal([]);
      expect(await actionsOf(() => partner.patch(`${path}/trail`, { description: "New." }))).to.deep.equal([
        "game.updated",
      ]);
      expect(await actionsOf(() => partner.patch(`${path}/trail`, {}))).to.deep.equal([]);
      expect(
        await actionsOf(() => partner.put(`${path}/trail/upload`, archive.subarray(0, 100), type)),
      ).to.deep.equal([]);
      expect(await actionsOf(() => partner.put(`${path}/trail/upload`, archive, type))).to.deep.equal([
        "game.uploaded",
      ]);
      expect(await actionsOf(() => partner.delete(`${path}/trail`))).to.deep.equal(["game.deleted"]);
      expect(await actionsOf(() => partner.delete(`${path}/trail`))).to.deep.equal([]);
    });

    it("record no success when the transaction fails at its commit", async () => {
      const game = await aGame(api.deps, { partnerId: owner.id, ...archivedGame });
      await api.deps.postgres.pool.query(`
        CREATE FUNCTION fail_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'canary at commit'; END $$;
        CREATE CONSTRAINT TRIGGER fail_commit AFTER UPDATE OR INSERT ON games DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail_commit()`);
      const path = `/api/partners/games/${game.slug}`;
      try {
        const archive = await anArchive();
        expect(
          await actionsOf(async () => {
            for (const failed of [
              await partner.post("/api/partners/games", {
                title: "Never",
                slug: "never",
                developer: "Studio",
                ...archivedGame,
              }),
              await partner.patch(path, { description: "Never." }),
              await partner.put(`${path}/upload`, archive, { "content-type": "application/gzip" }),
              await partner.delete(path),
            ]) {
              expectErrorResponse(failed, 500, "internal_error");
              expect(failed.text).to.not.match(/canary|trigger|node_modules|\.ts|SELECT|UPDATE|INSERT/);
            }
          }),
        ).to.deep.equal([]);
      } finally {
        await api.deps.postgres.pool.query("DROP TRIGGER fail_commit ON games; DROP FUNCTION fail_commit");
      }
      expect((await partner.get(path)).json()).to.include({ description: "" });
    });

    it("record a key's first use from a network, and error responses of one kind once a minute", async () => {
      const other = await aPartner(api.deps);
      const client = api.asPartner(other);
      expect(await actionsOf(() => sendTraffic(5, () => client.get("/api/partners/games")))).to.deep.equal([
        "partnerKey.used",
      ]);
      await api.deps.postgres.prisma.partner.update({
        where: { id: other.id },
        data: { suspendedAt: new Date() },
      });
      expect(await eventsOf(() => sendTraffic(5, () => client.get("/api/partners/games")))).to.deep.equal([
        { action: "access.refused", details: { code: "forbidden", route: "/api/partners/games" } },
      ]);
      expect(
        await actionsOf(() =>
          sendTraffic(5, () =>
            api.asPartner({ key: "joypod_live_nonsense" }).delete("/api/partners/games/x"),
          ),
        ),
      ).to.deep.equal(["access.refused"]);
      expect(
        await actionsOf(() => sendTraffic(5, () => api.anonymous().get("/api/partners/games"))),
      ).to.deep.equal([]);
      expect(
        await actionsOf(() =>
          api.as(user).post("/api/favorites", { gameId: "x" }, { origin: "https://evil.test" }),
        ),
      ).to.deep.equal(["access.refused"]);
    });

    it("record forms that were sent by another site", async () => {
      for (const json of ["true", "false"]) {
        const form = new URLSearchParams({
          email: user.email,
          password: user.password,
          csrfToken: "of another site",
          json,
        });
        expect(
          await actionsOf(() =>
            api.anonymous().post(`/api/auth/${json === "true" ? "signout" : "callback/credentials"}`, form),
          ),
          `json=${json}`,
        ).to.deep.equal(["access.refused"]);
      }
    });

    it("record an exhausted limit once, however many requests it refuses", async () => {
      const player = api.as(await aUser(api.deps));
      expect(await eventsOf(() => sendTraffic(12, () => player.get("/api/games")))).to.deep.equal([
        { action: "limit.reached", details: { limit: "catalog" } },
      ]);
    });

    it("are append-only: the database refuses UPDATE, DELETE and TRUNCATE", async () => {
      for (const sql of [
        "UPDATE audit_events SET action = 'x'",
        "DELETE FROM audit_events",
        "TRUNCATE audit_events",
      ]) {
        const error: unknown = await api.deps.postgres.pool.query(sql).then(
          () => undefined,
          (failure: unknown) => failure,
        );
        expect(String(error), sql).to.contain("append-only");
      }
    });
  });
});
