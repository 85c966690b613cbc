import { expect } from "chai";
import { GameDetail, GamesQuery, GamesResponse } from "#contracts/http/catalog.ts";
import { listCatalogGames } from "#api/catalog/catalogQueries.ts";
import { refreshPopularity } from "#api/catalog/popularity.ts";
import type { Queryable } from "#api/stores/queryable.ts";
import { aGame, aPartner, aSaveSlot, aUser, type TestUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient } from "#test/support/http/apiClient.ts";

const sortIndexes = ["title", "created", "created_desc", "popular", "popular_desc"].map(
  (name) => `games_catalog_${name}`,
);

describe("the catalogue", () => {
  let api: TestApi;
  let user: TestUser;
  let player: ApiClient;
  let partnerId: string;

  before(async () => {
    api = await TestApi.start({ env: { CATALOG_REQUESTS_PER_MINUTE: "10000" } });
    user = await aUser(api.deps);
    player = api.as(user);
    partnerId = (await aPartner(api.deps)).id;
  });
  after(() => api.stop());

  describe("GET /api/games", () => {
    before(async () => {
      const games = [
        {
          slug: "zebra-run",
          title: "zebra Run",
          developer: "Éclair Works",
          tags: ["Racing", "Indie"],
          popularity: 5,
          createdAt: new Date("2026-01-01T00:00:00Z"),
        },
        {
          slug: "alpha-quest",
          title: "Alpha Quest",
          developer: "North",
          tags: ["rpg"],
          popularity: 9,
          createdAt: new Date("2026-03-01T00:00:00Z"),
        },
        {
          slug: "beta-quest",
          title: "Beta Quest",
          developer: "ΟΔΟΣΕΙΑ ΝΟΤΟΣ",
          tags: ["RPG", "indie"],
          popularity: 5,
          createdAt: new Date("2026-02-01T00:00:00Z"),
        },
        {
          slug: "percent",
          title: "100% Orange_Juice",
          developer: "North",
          tags: [],
          popularity: 0,
          createdAt: new Date("2026-04-01T00:00:00Z"),
        },
      ];
      for (const game of games) await aGame(api.deps, { ...game, partnerId });
      await aGame(api.deps, { slug: "waiting", title: "Waiting", partnerId, status: "pending_upload" });
      await aGame(api.deps, { slug: "gone", title: "Gone", partnerId, deletedAt: new Date() });
    });

    async function slugs(query: string): Promise<string[]> {
      const response = await player.get(`/api/games?${query}`);
      expect(response.status, response.text).to.equal(200);
      return GamesResponse.parse(response.json()).games.map(({ slug }) => slug);
    }

    it("lists playable games, by title regardless of case, twenty to a page", async () => {
      const response = await player.get("/api/games");
      const { games, pagination } = GamesResponse.parse(response.json());
      expect(games.map(({ slug }) => slug)).to.deep.equal([
        "percent",
        "alpha-quest",
        "beta-quest",
        "zebra-run",
      ]);
      expect(pagination).to.deep.equal({ page: 1, limit: 20, total: 4, totalPages: 1 });
      expect(games[3]).to.deep.include({
        title: "zebra Run",
        developer: "Éclair Works",
        tags: ["Racing", "Indie"],
        thumbnail: "",
        releaseDate: "",
        isFavorite: false,
      });
    });

    it("sorts by each key in both orders, ties by title", async () => {
      expect(await slugs("order=desc")).to.deep.equal(["zebra-run", "beta-quest", "alpha-quest", "percent"]);
      expect(await slugs("sort=createdAt")).to.deep.equal([
        "zebra-run",
        "beta-quest",
        "alpha-quest",
        "percent",
      ]);
      expect(await slugs("sort=createdAt&order=desc")).to.deep.equal([
        "percent",
        "alpha-quest",
        "beta-quest",
        "zebra-run",
      ]);
      expect(await slugs("sort=popular")).to.deep.equal([
        "percent",
        "beta-quest",
        "zebra-run",
        "alpha-quest",
      ]);
      expect(await slugs("sort=popular&order=desc")).to.deep.equal([
        "alpha-quest",
        "beta-quest",
        "zebra-run",
        "percent",
      ]);
    });

    for (const [query, index] of [
      [{ search: "quest" }, "games_catalog_found"],
      [{ tag: "RPG" }, "games_catalog_found"],
      [{}, "games_catalog_title"],
      [{ order: "desc" }, "games_catalog_title"],
      [{ sort: "createdAt" }, "games_catalog_created"],
      [{ sort: "createdAt", order: "desc" }, "games_catalog_created_desc"],
      [{ sort: "popular" }, "games_catalog_popular"],
      [{ sort: "popular", order: "desc" }, "games_catalog_popular_desc"],
    ] as const) {
      it(`can serve ${JSON.stringify(query)} from ${index}`, async () => {
        expect(await planOf(GamesQuery.parse(query))).to.match(new RegExp(`\\b${index}\\b`));
      });
    }

    /** What Postgres does when it prefers indexes, as it will by itself once there are many games. */
    async function planOf(query: GamesQuery): Promise<string> {
      const client = await api.deps.postgres.pool.connect();
      try {
        await client.query("BEGIN");
        await client.query("SET LOCAL enable_seqscan = off");
        await client.query("SET LOCAL enable_sort = off");
        // With few games the sorts' indexes would do for a search too: here they are dropped until the
        // rollback.
        if (query.search || query.tag) await client.query(`DROP INDEX ${sortIndexes.join(", ")}`);
        let plan: unknown;
        const explaining = {
          query: async ({ text, values }: { text: string; values: unknown[] }) => {
            plan = (await client.query(`EXPLAIN ${text}`, values)).rows;
            return { rows: [] };
          },
        };
        await listCatalogGames(explaining as unknown as Queryable, user.id, query);
        return JSON.stringify(plan);
      } finally {
        await client.query("ROLLBACK");
        client.release();
      }
    }

    it("finds parts of title or developer in any case, and escapes LIKE wildcards", async () => {
      expect(await slugs("search=QUEST")).to.deep.equal(["alpha-quest", "beta-quest"]);
      expect(await slugs("search=%C3%A9CLAIR")).to.deep.equal(["zebra-run"]);
      expect(await slugs("search=north&sort=popular&order=desc")).to.deep.equal(["alpha-quest", "percent"]);
      expect(await slugs("search=%25")).to.deep.equal(["percent"]);
      expect(await slugs("search=e_j")).to.deep.equal(["percent"]);
      expect(await slugs("search=%5C")).to.deep.equal([]);
      expect(await slugs("search=quest'%20OR%201=1--")).to.deep.equal([]);
      // Greek capitals that end in a sigma: in lower case it is another letter at a word's end than within.
      for (const term of ["ΟΔΟΣ", "οδος", "ΟΔΟΣΕΙΑ", "ΝΟΤΟΣ", "νοτος", "νοτοσ", "ΟΣ", "Σ"])
        expect(await slugs(`search=${encodeURIComponent(term)}`), term).to.deep.equal(["beta-quest"]);
    });

    it("finds names and tags however their accents are encoded", async () => {
      const partner = await aPartner(api.deps);
      for (const [slug, form] of [
        ["composed", "NFC"],
        ["decomposed", "NFD"],
      ] as const) {
        await aGame(api.deps, { slug, partnerId: partner.id });
        const names = {
          title: "Forêt".normalize(form),
          developer: "Zoë".normalize(form),
          tags: ["rétro".normalize(form)],
        };
        expect((await api.asPartner(partner).patch(`/api/partners/games/${slug}`, names)).status).to.equal(
          200,
        );
      }
      try {
        for (const form of ["NFC", "NFD"]) {
          for (const query of ["search=forêt", "search=zoë", "tag=rétro"])
            expect(await slugs(encodeURI(query.normalize(form)))).to.have.members(["composed", "decomposed"]);
        }
      } finally {
        await api.deps.postgres.pool.query("UPDATE games SET deleted_at = now() WHERE partner_id = $1", [
          partner.id,
        ]);
      }
    });

    it("filters by a whole tag in any case, together with a search", async () => {
      expect(await slugs("tag=Rpg")).to.deep.equal(["alpha-quest", "beta-quest"]);
      for (const unknown of ["rp", "longer-than-any-tag-that-a-game-can-have"])
        expect(await slugs(`tag=${unknown}`)).to.deep.equal([]);
      expect(await slugs("tag=INDIE&search=quest")).to.deep.equal(["beta-quest"]);
    });

    it("pages, clamps the page size and gives an empty page past the end", async () => {
      const second = GamesResponse.parse((await player.get("/api/games?page=2&limit=3")).json());
      expect(second.games.map(({ slug }) => slug)).to.deep.equal(["zebra-run"]);
      expect(second.pagination).to.deep.equal({ page: 2, limit: 3, total: 4, totalPages: 2 });
      const past = GamesResponse.parse((await player.get("/api/games?page=999999&limit=51")).json());
      expect(past).to.deep.equal({
        games: [],
        pagination: { page: 999_999, limit: 50, total: 4, totalPages: 1 },
      });
      const none = GamesResponse.parse((await player.get("/api/games?search=nothing-like-this")).json());
      expect(none.pagination).to.deep.include({ total: 0, totalPages: 0 });
    });

    for (const query of [
      "page=0",
      "page=-1",
      "page=1e3",
      "page=0x10",
      "page=",
      "page=1.5",
      "page=1234567",
      "limit=0",
      "limit=x",
      "page=1&page=2",
      "sort=price",
      "order=up",
      `search=${"x".repeat(101)}`,
      "search=%00",
      "search=a%0Ab",
      "tag=%00",
      `tag=${"x".repeat(101)}`,
      "unknown=1",
      "__proto__=1",
    ]) {
      it(`refuses ?${query.slice(0, 30)} as invalid`, async () => {
        expectErrorResponse(await player.get(`/api/games?${query}`), 400, "invalid_request");
      });
    }

    it("returns 304 while nothing has changed, and still renews the cookie", async () => {
      const first = await player.get("/api/games?search=quest");
      expect(first.headers.get("cache-control")).to.equal("private, no-cache");
      const again = await player.get("/api/games?search=quest", {
        "if-none-match": first.headers.get("etag")!,
      });
      expect(again.status).to.equal(304);
      expect(again.text).to.equal("");
      expect(again.setCookies.join()).to.match(/^auth\.session-token=ey/);
    });

    it("requires a session cookie, and accepts no key or Bearer token instead", async () => {
      expectErrorResponse(await api.anonymous().get("/api/games"), 401, "unauthorized");
      const token = player.cookies.get("auth.session-token")!;
      expectErrorResponse(
        await api.anonymous().get("/api/games", { authorization: `Bearer ${token}` }),
        401,
        "unauthorized",
      );
      expectErrorResponse(
        await api.asPartner(await aPartner(api.deps)).get("/api/games"),
        401,
        "unauthorized",
      );
    });
  });

  describe("GET /api/games/{slug}", () => {
    it("shows all of a game and exactly three slots, filled with the user's own saves only", async () => {
      const game = await aGame(api.deps, {
        partnerId,
        title: "Full",
        description: "Two\nlines",
        tags: ["a"],
        thumbnail: "https://pictures.test/t.png",
        screenshots: ["https://pictures.test/1.png"],
        contentRating: "PEGI 7",
        languages: ["en", "de-AT"],
        website: "https://game.test/",
        releaseDate: new Date("2025-02-28"),
      });
      const slot = await aSaveSlot(api.deps, { user, game, number: 2, label: "Chapter 3" });
      await aSaveSlot(api.deps, { user: await aUser(api.deps), game, number: 1 });
      const detail = GameDetail.parse((await player.get(`/api/games/${game.slug}`)).json());
      expect(detail).to.deep.equal({
        id: game.id,
        slug: game.slug,
        title: "Full",
        developer: "Test Studio",
        description: "Two\nlines",
        tags: ["a"],
        thumbnail: "https://pictures.test/t.png",
        releaseDate: "2025-02-28",
        isFavorite: false,
        screenshots: ["https://pictures.test/1.png"],
        contentRating: "PEGI 7",
        languages: ["en", "de-AT"],
        website: "https://game.test/",
        saveSlots: [
          { id: null, slotNumber: 1, label: null, lastPlayedAt: null },
          { id: slot.id, slotNumber: 2, label: "Chapter 3", lastPlayedAt: slot.lastPlayedAt.toISOString() },
          { id: null, slotNumber: 3, label: null, lastPlayedAt: null },
        ],
      });
    });

    it("has the same fields for a game with little metadata", async () => {
      const { slug } = await aGame(api.deps, { partnerId });
      expect((await player.get(`/api/games/${slug}`)).json()).to.deep.include({
        thumbnail: "",
        releaseDate: "",
        screenshots: [],
        contentRating: "",
        languages: [],
        website: "",
        tags: [],
      });
    });

    it("returns the same error for a hidden game as for an unknown one", async () => {
      const waiting = await aGame(api.deps, { partnerId, status: "pending_upload" });
      const gone = await aGame(api.deps, { partnerId, deletedAt: new Date() });
      const bodies = [];
      for (const slug of ["no-such-game", waiting.slug, gone.slug]) {
        const response = await player.get(`/api/games/${slug}`);
        expectErrorResponse(response, 404, "not_found");
        bodies.push(response.json()["message"]);
      }
      expect(new Set(bodies).size).to.equal(1);
    });

    for (const path of ["UPPER", "%2e%2e%2f", "a%00b", "-x", "a".repeat(64), "%E0%A4%A"]) {
      it(`answers ${path.slice(0, 12)} with an error response, not with an internal error`, async () => {
        const { status } = await player.get(`/api/games/${path}`);
        expect(status).to.be.oneOf([400, 404]);
      });
    }

    it("returns 304 until the game changes, and requires a session", async () => {
      const game = await aGame(api.deps, { partnerId });
      const etag = (await player.get(`/api/games/${game.slug}`)).headers.get("etag")!;
      expect((await player.get(`/api/games/${game.slug}`, { "if-none-match": etag })).status).to.equal(304);
      await player.post("/api/favorites", { gameId: game.id });
      expect((await player.get(`/api/games/${game.slug}`, { "if-none-match": etag })).status).to.equal(200);
      expectErrorResponse(await api.anonymous().get(`/api/games/${game.slug}`), 401, "unauthorized");
    });
  });

  describe("POST /api/favorites", () => {
    it("adds, then removes, only for that user", async () => {
      const game = await aGame(api.deps, { partnerId, title: "Marked" });
      expect((await player.post("/api/favorites", { gameId: game.id })).json()).to.deep.equal({
        status: "added",
        gameId: game.id,
      });
      expect((await player.get(`/api/games/${game.slug}`)).json()).to.include({ isFavorite: true });
      expect((await api.as(await aUser(api.deps)).get(`/api/games/${game.slug}`)).json()).to.include({
        isFavorite: false,
      });
      const listed = GamesResponse.parse((await player.get("/api/games?search=marked")).json());
      expect(listed.games.map(({ isFavorite }) => isFavorite)).to.deep.equal([true]);
      expect((await player.post("/api/favorites", { gameId: game.id })).json()).to.deep.equal({
        status: "removed",
        gameId: game.id,
      });
      expect((await player.get(`/api/games/${game.slug}`)).json()).to.include({ isFavorite: false });
    });

    it("leaves the favorite unchanged after an even number of concurrent toggles", async () => {
      const game = await aGame(api.deps, { partnerId });
      const responses = await Promise.all(
        Array.from({ length: 10 }, () => player.post("/api/favorites", { gameId: game.id })),
      );
      const statuses = responses.map((response) => response.json()["status"]);
      expect(statuses.filter((status) => status === "added")).to.have.length(5);
      expect((await player.get(`/api/games/${game.slug}`)).json()).to.include({ isFavorite: false });
    });

    it("accepts only games in the catalogue", async () => {
      const waiting = await aGame(api.deps, { partnerId, status: "pending_upload" });
      for (const gameId of [waiting.id, "00000000-0000-0000-0000-000000000000", "x"]) {
        expectErrorResponse(await player.post("/api/favorites", { gameId }), 404, "not_found");
      }
    });

    it("refuses an invalid body, naming the field", async () => {
      for (const body of [
        {},
        { gameId: 7 },
        { gameId: "" },
        { gameId: "a\u0000" },
        { gameId: "a", userId: "b" },
        [],
        '"text"',
      ]) {
        const response = await player.post("/api/favorites", body, { "content-type": "application/json" });
        expectErrorResponse(response, 400, "invalid_request");
        expect(response.json<{ details: unknown[] }>().details).to.not.be.empty;
      }
      const proto = await player.post("/api/favorites", '{"gameId":"a","__proto__":{"x":1}}', {
        "content-type": "application/json",
      });
      expectErrorResponse(proto, 400, "invalid_request");
      expectErrorResponse(
        await player.post("/api/favorites", "{", { "content-type": "application/json" }),
        400,
        "invalid_request",
      );
      expectErrorResponse(
        await player.post("/api/favorites", "[".repeat(5000), { "content-type": "application/json" }),
        400,
        "invalid_request",
      );
    });

    it("accepts only JSON, and only from trusted pages", async () => {
      const game = await aGame(api.deps, { partnerId });
      const body = JSON.stringify({ gameId: game.id });
      const json = { "content-type": "application/json" };
      for (const [sent, headers, encodings] of [
        [body, { "content-type": "text/plain" }, null],
        [new URLSearchParams({ gameId: game.id }), {}, null],
        [body, { ...json, "content-encoding": "gzip" }, "identity"],
      ] as const) {
        const refused = await player.post("/api/favorites", sent, headers);
        expectErrorResponse(refused, 415, "unsupported_media_type");
        expect([refused.headers.get("accept"), refused.headers.get("accept-encoding")]).to.deep.equal([
          "application/json",
          encodings,
        ]);
      }
      for (const headers of [
        { origin: "https://evil.test" },
        { origin: "null" },
        { "sec-fetch-site": "cross-site" },
      ]) {
        expectErrorResponse(
          await player.post("/api/favorites", body, { ...json, ...headers }),
          403,
          "forbidden",
        );
      }
      expect(
        (
          await player.post("/api/favorites", body, {
            ...json,
            origin: api.url,
            "sec-fetch-site": "same-origin",
          })
        ).status,
      ).to.equal(200);
      expectErrorResponse(
        await api.anonymous().post("/api/favorites", { gameId: game.id }),
        401,
        "unauthorized",
      );
      expectErrorResponse(
        await player.post("/api/favorites", { gameId: "x".repeat(70_000) }),
        413,
        "payload_too_large",
      );
    });
  });

  it("counts launches of the last 30 days as popularity", async () => {
    // Of its own, because it recounts every game.
    const counting = await TestApi.start();
    try {
      const { postgres } = counting.deps;
      const owner = (await aPartner(counting.deps)).id;
      const [recent, old] = [
        await aGame(counting.deps, { partnerId: owner, popularity: 3 }),
        await aGame(counting.deps, { partnerId: owner, popularity: 3 }),
      ];
      const launched = (gameId: string, daysAgo: number, launches: number): Promise<unknown> =>
        postgres.pool.query(
          "INSERT INTO game_launch_days (game_id, day, launches) VALUES ($1, (now() AT TIME ZONE 'UTC')::date - $2::int, $3)",
          [gameId, daysAgo, launches],
        );
      await Promise.all([
        launched(recent.id, 0, 2),
        launched(recent.id, 29, 5),
        launched(recent.id, 30, 100),
        launched(old.id, 31, 50),
      ]);
      await refreshPopularity(postgres);
      const games = await postgres.prisma.game.findMany({
        where: { id: { in: [recent.id, old.id] } },
        select: { id: true, popularity: true },
      });
      expect(games).to.have.deep.members([
        { id: recent.id, popularity: 7 },
        { id: old.id, popularity: 0 },
      ]);
    } finally {
      await counting.stop();
    }
  });

  it("limits requests per user with Retry-After", async () => {
    const limited = await TestApi.start({ env: { CATALOG_REQUESTS_PER_MINUTE: "5" } });
    try {
      const mine = limited.as(await aUser(limited.deps));
      const responses = await Promise.all(Array.from({ length: 8 }, () => mine.get("/api/games")));
      const refused = responses.filter(({ status }) => status === 429);
      expect(refused).to.have.length(3);
      for (const response of refused) {
        expectErrorResponse(response, 429, "rate_limited");
        expect(Number(response.headers.get("retry-after"))).to.be.within(1, 60);
        expect(response.headers.get("ratelimit-policy")).to.equal('"catalog";q=5;w=60');
        expect(response.headers.get("ratelimit")).to.match(/^"catalog";r=0;t=\d+$/);
      }
      expect((await limited.as(await aUser(limited.deps)).get("/api/games")).status).to.equal(200);
      // A page that polls its session goes on.
      expectErrorResponse(await mine.get("/api/game/session-status?sessionId=gs-none"), 404, "not_found");
    } finally {
      await limited.stop();
    }
  });
});
