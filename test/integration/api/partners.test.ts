import { expect } from "chai";
import { aGame, aPartner, aUser, type TestPartner } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient } from "#test/support/http/apiClient.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { operatorOf, type FakeOperator } from "#test/support/cluster/fakeOperator.ts";

const path = "/api/partners/games";
const metadata = {
  title: "The Long Night",
  developer: "Test Studio",
  launcher: "play.sh",
  engineDir: "engine",
};

describe("partner games", function () {
  this.timeout(60_000);
  let api: TestApi;
  let operator: FakeOperator;
  let partner: TestPartner;
  let client: ApiClient;

  before(async () => {
    api = await TestApi.start({ kube: true });
    operator = operatorOf(api);
  });
  beforeEach(async () => {
    partner = await aPartner(api.deps);
    client = api.asPartner(partner);
  });
  after(async () => {
    await operator.removeNodes();
    await api.stop();
  });

  describe("POST", () => {
    it("registers a game that waits for its archive, with a slug from its title", async () => {
      const title = `Émile's Night ${partner.keyId}`;
      const response = await client.post(path, {
        ...metadata,
        title,
        tags: ["Night"],
        releaseDate: "2030-02-03",
        website: "https://example.test/",
      });
      expect(response.status, response.text).to.equal(201);
      const { id, slug, status } = response.json<Record<"id" | "slug" | "status", string>>();
      expect(slug).to.equal(`emiles-night-${partner.keyId}`);
      expect(status).to.equal("pending_upload");
      const row = await api.deps.postgres.prisma.game.findUniqueOrThrow({ where: { id } });
      expect(row).to.deep.include({
        title,
        tags: ["Night"],
        releaseDate: new Date("2030-02-03"),
        website: "https://example.test/",
      });
      expect((await client.get(path)).json()).to.deep.include({ total: 1 });
    });

    it("refuses a slug that is or was in use", async () => {
      for (const overrides of [{}, { partnerId: partner.id }, { deletedAt: new Date() }]) {
        const { slug } = await aGame(api.deps, overrides);
        expectErrorResponse(await client.post(path, { ...metadata, slug }), 409, "conflict");
      }
    });

    it("frees a deleted game's slug after 90 days, once its cache is gone", async () => {
      const dayMs = 86_400_000;
      const { prisma } = api.deps.postgres;
      const { slug, id } = await aGame(api.deps, { deletedAt: new Date(Date.now() - 89 * dayMs) });
      expectErrorResponse(await client.post(path, { ...metadata, slug }), 409, "conflict");
      await prisma.game.update({
        where: { id },
        data: { deletedAt: new Date(Date.now() - 91 * dayMs), cacheRevision: 2, cacheAppliedRevision: 1 },
      });
      expectErrorResponse(await client.post(path, { ...metadata, slug }), 409, "conflict");
      await prisma.game.update({ where: { id }, data: { cacheAppliedRevision: 2 } });
      const created = await client.post(path, { ...metadata, slug });
      expect(created.status, created.text).to.equal(201);
      expect((await prisma.game.findUniqueOrThrow({ where: { id } })).slug).to.not.equal(slug);
    });

    it("refuses games beyond the limit, until one is deleted", async () => {
      const other = await aPartner(api.deps);
      const games = 1_000;
      await api.deps.postgres.pool.query(
        `INSERT INTO games (partner_id, slug, title, developer, launcher, engine_dir)
        SELECT $1, 'many-' || n, 'Many', 'Studio', 'run.sh', 'engine' FROM generate_series(1, $2) AS n`,
        [other.id, games],
      );
      const its = api.asPartner(other);
      const refused = await its.post(path, { ...metadata, slug: "one-more" });
      expectErrorResponse(refused, 409, "conflict");
      expect(refused.text).to.contain("1000 games");
      expect((await its.get(path)).json()).to.include({ total: games });
      expect((await its.delete(`${path}/many-1`)).status).to.equal(204);
      expect((await its.post(path, { ...metadata, slug: "one-more" })).status).to.equal(201);
    });

    it("registers once for each Idempotency-Key", async () => {
      const body = { ...metadata, slug: `once-${partner.keyId}` };
      const headers = { "idempotency-key": "first-try" };
      const [first, again] = [await client.post(path, body, headers), await client.post(path, body, headers)];
      expect([first.status, again.status]).to.deep.equal([201, 201]);
      expect(again.json()).to.deep.equal(first.json());
      expect(again.headers.get("idempotency-replayed")).to.equal("true");
    });

    it("accepts every field at its limit, and none beyond", async () => {
      const atBound = {
        ...metadata,
        title: "t".repeat(120),
        description: "d".repeat(5000),
        tags: Array.from({ length: 20 }, (_, at) => `${at}`.padStart(32, "t")),
        slug: `s-${partner.keyId}`.padEnd(63, "0"),
        languages: ["en", "pt-BR", "zh-Hant-TW"],
        releaseDate: "2030-12-31",
        screenshots: Array.from({ length: 10 }, (_, at) => `https://example.test/${at}.png`),
        website: `https://example.test/${"w".repeat(2027)}`,
        saveLimitMb: 1024,
        stopGraceSeconds: 19,
        network: "none",
      };
      const created = await client.post(path, atBound);
      expect(created.status, created.text).to.equal(201);
      const beyond = [
        ["title", "t".repeat(121)],
        ["description", "d".repeat(5001)],
        ["tags", ["t".repeat(33)]],
        ["slug", "s".repeat(64)],
        ["slug", "s"],
        ["slug", "a-"],
        ["languages", ["english language"]],
        ["releaseDate", "2030-02-30"],
        ["releaseDate", "0000-01-01"],
        ["screenshots", Array(11).fill("https://example.test/a.png")],
        ["saveLimitMb", 15],
        ["saveLimitMb", 1025],
        ["saveLimitMb", 16.5],
        ["stopGraceSeconds", 0],
        ["stopGraceSeconds", 20],
        ["network", "lan"],
        ["website", `https://example.test/${"w".repeat(2028)}`],
        ["website", "http://example.test/"],
        ["launcher", "-rf"],
        ["launcher", ".hidden"],
        ["engineDir", ".."],
      ] as const;
      for (const [field, value] of beyond) {
        const response = await client.post(path, { ...metadata, [field]: value });
        expectErrorResponse(response, 400, "invalid_request");
        expect(response.json<{ details: { path: string }[] }>().details[0]!.path, response.text).to.match(
          new RegExp(`^${field}`),
        );
      }
    });

    it("refuses missing, unknown and excessive fields by name", async () => {
      const wrong = [
        [{ ...metadata, title: undefined }, "title"],
        [{ ...metadata, status: "active" }, ""],
        [{ ...metadata, partnerId: "x" }, ""],
        [{ ...metadata, launcher: "../sh" }, "launcher"],
        [{ ...metadata, engineDir: "a/b" }, "engineDir"],
        [{ ...metadata, slug: "-x" }, "slug"],
        [{ ...metadata, thumbnail: "javascript:alert(1)" }, "thumbnail"],
        [{ ...metadata, website: "https://a:b@c.test" }, "website"],
        [{ ...metadata, tags: Array.from({ length: 21 }, (_, at) => `t${at}`) }, "tags"],
        [{ ...metadata, title: "a\u0000b" }, "title"],
        [{ ...metadata, title: "日本" }, "slug"],
      ] as const;
      for (const [body, field] of wrong) {
        const response = await client.post(path, body);
        expectErrorResponse(response, 400, "invalid_request");
        const { details, message } = response.json<{ details: { path: string }[]; message: string }>();
        expect(details[0]!.path, response.text).to.equal(field);
        expect(message).to.be.a("string");
      }
    });
  });

  describe("of one game", () => {
    it("are not found for another partner on any route", async () => {
      const { slug, id } = await aGame(api.deps);
      const routes = [
        ["GET", `${path}/${slug}`, undefined],
        ["PATCH", `${path}/${slug}`, { title: "Mine" }],
        ["GET", `${path}/${slug}/sync`, undefined],
        ["DELETE", `${path}/${slug}`, undefined],
        ["PUT", `${path}/${slug}/upload`, new Uint8Array(1)],
      ] as const;
      for (const [method, address, body] of routes) {
        const headers: Record<string, string> =
          method === "PUT" ? { "content-type": "application/gzip" } : {};
        const [theirs, unknown] = [
          await client.request(method, address, { body, headers }),
          await client.request(method, address.replace(slug, "no-such"), { body, headers }),
        ];
        expectErrorResponse(theirs, 404, "not_found");
        expectErrorResponse(unknown, 404, "not_found");
        expect(theirs.json<{ message: string }>().message.replace(slug, "no-such")).to.equal(
          unknown.json<{ message: string }>().message,
        );
      }
      expect((await client.get(path)).json()).to.deep.equal({ games: [], total: 0 });
      expect((await api.deps.postgres.prisma.game.findUniqueOrThrow({ where: { id } })).deletedAt).to.be.null;
    });

    it("show how many servers hold the current archive", async () => {
      const game = await aGame(api.deps, { partnerId: partner.id });
      const nodes = [
        await operator.addNode(1),
        await operator.addNode(1),
        await operator.addNode(1),
      ].toSorted();
      const [first, second] = nodes as [string, string, string];
      await operator.caches.apply(
        {
          metadata: { name: game.slug, namespace: api.kube!.sessionsNamespace },
          spec: {
            source: {
              bucket: "joypod",
              key: "archives/x",
              sha256: game.sha256!,
              sizeBytes: 1,
              unpackedSizeBytes: 1,
            },
          },
        },
        { fieldManager: "test" },
      );
      await operator.reportCache(game.slug, {
        nodes: [
          { nodeName: first, state: "Cached", digest: game.sha256!, cachedAt: "2030-01-01T00:00:00Z" },
          { nodeName: second, state: "Cached", digest: "c".repeat(64), cachedAt: "2030-01-01T00:00:00Z" },
        ],
      });
      const sync = await eventually(async () => {
        const record = (await client.get(`${path}/${game.slug}/sync`)).json<{ cachedOn: number }>();
        return record.cachedOn === 1 ? record : undefined;
      });
      expect(sync).to.deep.equal({
        slug: game.slug,
        totalServers: 3,
        cachedOn: 1,
        pendingSync: 2,
        servers: nodes.map((id) =>
          id === first
            ? { id, status: "cached", cachedAt: "2030-01-01T00:00:00.000Z" }
            : {
                id,
                status: "pending",
                cachedAt: null,
                pending: {
                  reason: "not_selected",
                  message:
                    "The site keeps the game on other servers. This one downloads it when a player launches it there.",
                },
              },
        ),
      });
      const detail = await client.get(`${path}/${game.slug}`);
      expect(detail.json()).to.deep.equal({
        id: game.id,
        slug: game.slug,
        title: game.title,
        developer: "Test Studio",
        description: "",
        tags: [],
        launcher: "run.sh",
        engineDir: "engine",
        thumbnail: "",
        picture: null,
        screenshots: [],
        contentRating: "",
        languages: [],
        website: "",
        releaseDate: "",
        network: "none",
        visibility: "public",
        autoActivate: true,
        verify: null,
        saveLimitMb: null,
        stopGraceSeconds: null,
        resources: null,
        status: "active",
        cacheStatus: { servers: 3, cached: 1 },
      });
    });

    it("are not found by impossible names, which the error repeats", async () => {
      for (const name of ["no_such", "NOPE", "x", "y".repeat(64), "y".repeat(256)]) {
        for (const response of [
          await client.get(`${path}/${name}`),
          await client.patch(`${path}/${name}`, {}),
          await client.get(`${path}/${name}/sync`),
          await client.delete(`${path}/${name}`),
        ]) {
          expectErrorResponse(response, 404, "not_found");
          expect(response.json<{ message: string }>().message).to.contain(name);
        }
      }
    });

    it("show everything that their partner set", async () => {
      const set = {
        ...metadata,
        slug: `whole-${partner.keyId}`,
        description: "Long.",
        tags: ["night"],
        thumbnail: "https://example.test/a.png",
        screenshots: ["https://example.test/1.png"],
        contentRating: "PEGI 12",
        languages: ["en", "pt-BR"],
        website: "https://example.test/",
        releaseDate: "2030-02-03",
        network: "none",
        saveLimitMb: 64,
        stopGraceSeconds: 15,
        resources: { memoryMb: 2048 },
      };
      const created = await client.post(path, set);
      expect(created.status, created.text).to.equal(201);
      expect((await client.get(`${path}/${set.slug}`)).json()).to.deep.include(set);
    });

    it("are changed by PATCH in the given fields only", async () => {
      const { slug, id } = await aGame(api.deps, {
        partnerId: partner.id,
        description: "Old",
        tags: ["a"],
        thumbnail: "https://example.test/a.png",
      });
      expect((await client.patch(`${path}/${slug}`, {})).json()).to.include({ description: "Old" });
      const changed = await client.patch(`${path}/${slug}`, { title: "New", thumbnail: null, tags: null });
      expect(changed.status, changed.text).to.equal(200);
      expect(changed.json()).to.deep.include({
        id,
        slug,
        title: "New",
        description: "Old",
        tags: [],
        thumbnail: "",
      });
      for (const body of [
        { slug: "other" },
        { status: "pending_upload" },
        { id: "x" },
        { title: null },
        { launcher: "" },
        { createdAt: "2020-01-01" },
      ]) {
        expectErrorResponse(await client.patch(`${path}/${slug}`, body), 400, "invalid_request");
      }
      expect((await client.get(`${path}/${slug}`)).json()).to.deep.include({
        title: "New",
        status: "active",
      });
    });

    it("have an ETag that yields 304 until they change", async () => {
      const { slug } = await aGame(api.deps, { partnerId: partner.id });
      for (const address of [`${path}/${slug}`, `${path}/${slug}/sync`, path]) {
        const first = await client.get(address);
        const etag = first.headers.get("etag")!;
        expect(etag).to.match(/^W\/"/);
        expect(first.headers.get("cache-control")).to.equal("private, no-cache");
        const again = await client.get(address, { "if-none-match": etag });
        expect({ status: again.status, text: again.text, etag: again.headers.get("etag") }).to.deep.equal({
          status: 304,
          text: "",
          etag,
        });
        expect((await client.get(address, { "if-none-match": 'W/"other"' })).status).to.equal(200);
      }
      const before = (await client.get(`${path}/${slug}`)).headers.get("etag")!;
      const patched = await client.patch(`${path}/${slug}`, { title: "Another" });
      expect(patched.headers.get("etag")).to.not.equal(before);
      const after = await client.get(`${path}/${slug}`, { "if-none-match": before });
      expect(after.status).to.equal(200);
      expect(after.headers.get("etag")).to.equal(patched.headers.get("etag"));
    });

    it("are changed and deleted only in the state of If-Match", async () => {
      const { slug, id } = await aGame(api.deps, { partnerId: partner.id });
      const game = `${path}/${slug}`;
      const old = (await client.get(game)).headers.get("etag")!;
      const fresh = (await client.patch(game, { title: "Second" }, { "if-match": old })).headers.get("etag")!;
      for (const header of [old, '"other"', "nonsense"]) {
        expectErrorResponse(
          await client.patch(game, { title: "Third" }, { "if-match": header }),
          412,
          "precondition_failed",
        );
        expectErrorResponse(await client.delete(game, { "if-match": header }), 412, "precondition_failed");
        expectErrorResponse(
          await client.put(`${game}/upload`, new Uint8Array(1), {
            "content-type": "application/gzip",
            "if-match": header,
          }),
          412,
          "precondition_failed",
        );
      }
      expect((await client.get(game)).json()).to.include({ title: "Second" });
      expect((await client.patch(game, {}, { "if-match": fresh })).status).to.equal(200);
      expect(
        (await client.patch(game, { title: "Third" }, { "if-match": `"other", ${fresh}` })).status,
      ).to.equal(200);
      expect((await client.patch(game, { title: "Fourth" }, { "if-match": "*" })).status).to.equal(200);
      expectErrorResponse(await client.patch(`${path}/no-such`, {}, { "if-match": "*" }), 404, "not_found");
      const last = (await client.get(game)).headers.get("etag")!;
      expect((await client.delete(game, { "if-match": last })).status).to.equal(204);
      expectErrorResponse(await client.delete(game, { "if-match": last }), 404, "not_found");
      expect((await api.deps.postgres.prisma.game.findUniqueOrThrow({ where: { id } })).deletedAt).to.not.be
        .null;
    });

    it("accept one of many changes to the same state", async () => {
      const { slug } = await aGame(api.deps, { partnerId: partner.id });
      const etag = (await client.get(`${path}/${slug}`)).headers.get("etag")!;
      const statuses = await Promise.all(
        Array.from(
          { length: 10 },
          async (_, at) =>
            (await client.patch(`${path}/${slug}`, { title: `Title ${at}` }, { "if-match": etag })).status,
        ),
      );
      expect(statuses.filter((status) => status === 200)).to.have.length(1);
      expect(statuses.filter((status) => status === 412)).to.have.length(9);
    });

    it("can be deleted during play: the session continues, and no other one starts", async () => {
      const game = await aGame(api.deps, { partnerId: partner.id });
      await operator.addNode(10);
      const [user, other] = [await aUser(api.deps), await aUser(api.deps)];
      const launched = await api.as(user).post("/api/game/launch", { gameSlug: game.slug });
      expect(launched.status, launched.text).to.equal(202);
      const { sessionId } = launched.json<{ sessionId: string }>();
      expect((await client.delete(`${path}/${game.slug}`)).status).to.equal(204);
      const sessions = (await api.as(user).get("/api/game/sessions")).json<{
        sessions: { sessionId: string }[];
      }>();
      expect(sessions.sessions.map((session) => session.sessionId)).to.deep.equal([sessionId]);
      expect((await api.as(user).post("/api/game/keepalive", { sessionId })).status).to.equal(200);
      expectErrorResponse(
        await api.as(other).post("/api/game/launch", { gameSlug: game.slug }),
        404,
        "not_found",
      );
      await operator.finish(sessionId);
    });

    it("accept only a launcher and engineDir that are in the active archive", async () => {
      const { slug, versionId } = await aGame(api.deps, { partnerId: partner.id });
      await api.deps.postgres.prisma.gameVersion.update({
        where: { id: versionId! },
        data: { rootFiles: ["run.sh", "other.sh"], rootDirectories: ["engine"] },
      });
      expect((await client.patch(`${path}/${slug}`, { launcher: "other.sh" })).json()).to.include({
        launcher: "other.sh",
      });
      expectErrorResponse(
        await client.patch(`${path}/${slug}`, { launcher: "missing.sh" }),
        422,
        "invalid_archive",
      );
      expectErrorResponse(
        await client.patch(`${path}/${slug}`, { engineDir: "missing" }),
        422,
        "invalid_archive",
      );
      const pending = await aGame(api.deps, { partnerId: partner.id, status: "pending_upload" });
      expect((await client.patch(`${path}/${pending.slug}`, { launcher: "missing.sh" })).status).to.equal(
        200,
      );
      const rootFiles = Array.from({ length: 1_000 }, (_, index) => `file-${index}`);
      await api.deps.postgres.prisma.gameVersion.update({ where: { id: versionId! }, data: { rootFiles } });
      const unknown = await client.patch(`${path}/${slug}`, { launcher: "late.sh" });
      expectErrorResponse(unknown, 422, "invalid_archive");
      expect(unknown.text).to.contain("1000").and.contain("upload it again");
    });

    it("are deleted once, with their GameCache, and disappear from every list", async () => {
      const { slug } = await aGame(api.deps, { partnerId: partner.id });
      await operator.caches.apply(
        {
          metadata: { name: slug, namespace: api.kube!.sessionsNamespace },
          spec: {
            source: {
              bucket: "joypod",
              key: "archives/x",
              sha256: "a".repeat(64),
              sizeBytes: 1,
              unpackedSizeBytes: 1,
            },
          },
        },
        { fieldManager: "test" },
      );
      const deleted = await client.delete(`${path}/${slug}`);
      expect(deleted.status).to.equal(204);
      expect(deleted.text).to.equal("");
      expect(await operator.cache(slug)).to.be.undefined;
      for (const response of [
        await client.delete(`${path}/${slug}`),
        await client.get(`${path}/${slug}`),
        await client.get(`${path}/${slug}/sync`),
      ]) {
        expectErrorResponse(response, 404, "not_found");
      }
      expect((await client.get(path)).json()).to.include({ total: 0 });
    });
  });
});
