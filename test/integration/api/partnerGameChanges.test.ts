import { expect } from "chai";
import { aGame, aPartner, type TestPartner } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import type { ApiClient, ApiResponse } from "#test/support/http/apiClient.ts";

const path = "/api/partners/games";

describe("concurrent changes of one game by a partner", function () {
  this.timeout(60_000);
  let api: TestApi;
  let partner: TestPartner;
  let client: ApiClient;

  before(async () => {
    api = await TestApi.start({ kube: true });
  });
  beforeEach(async () => {
    partner = await aPartner(api.deps);
    client = api.asPartner(partner);
  });
  after(() => api.stop());

  /**
   * Sends all changes at once and returns their responses, in the same order. Each must be 200 and show what
   * it was sent for.
   */
  async function carriedOut(
    slug: string,
    changes: readonly object[],
    headers: Record<string, string> = {},
  ): Promise<ApiResponse[]> {
    const responses = await Promise.all(
      changes.map((change) => client.patch(`${path}/${slug}`, change, headers)),
    );
    responses.forEach((response, at) => {
      expect(response.status, response.text).to.equal(200);
      expect(response.json()).to.deep.include(changes[at]);
    });
    return responses;
  }

  it("are all applied and recorded, each in its field", async () => {
    const { slug, id } = await aGame(api.deps, { partnerId: partner.id, status: "pending_upload" });
    const changes = {
      title: "Another Night",
      developer: "Another Studio",
      launcher: "other.sh",
      engineDir: "other",
      description: "Long.",
      tags: ["night"],
      thumbnail: "https://example.test/a.png",
      screenshots: ["https://example.test/1.png"],
      contentRating: "PEGI 12",
      languages: ["en", "pt-BR"],
      website: "https://example.test/",
      releaseDate: "2030-02-03",
      saveLimitMb: 64,
      resources: { memoryMb: 512 },
    };
    const responses = await carriedOut(
      slug,
      Object.entries(changes).map(([field, value]) => ({ [field]: value })),
    );
    expect((await client.get(`${path}/${slug}`)).json()).to.deep.include(changes);
    expect(
      await api.deps.postgres.prisma.auditEvent.count({ where: { action: "game.updated", subjectId: id } }),
    ).to.equal(responses.length);
  });

  it("can contain everything that the partner reads of a game, including empty fields, and then change nothing", async () => {
    const { slug } = await aGame(api.deps, { partnerId: partner.id, status: "pending_upload" });
    const {
      id,
      slug: named,
      picture,
      status,
      cacheStatus,
      ...read
    } = (await client.get(`${path}/${slug}`)).json();
    expect(read).to.include({ thumbnail: "", website: "", releaseDate: "" });
    const response = await client.patch(`${path}/${slug}`, read);
    expect(response.status, response.text).to.equal(200);
    expect(response.json()).to.deep.equal({ id, slug: named, picture, status, cacheStatus, ...read });
    const { title, developer, launcher, engineDir } = read;
    const empty = { thumbnail: "", website: "", releaseDate: "" };
    const registered = await client.post(path, {
      title,
      developer,
      launcher,
      engineDir,
      slug: `again-${partner.keyId}`,
      ...empty,
    });
    expect(registered.status, registered.text).to.equal(201);
    expect((await client.get(`${path}/again-${partner.keyId}`)).json()).to.include(empty);
  });

  for (const [what, changeOf, headers] of [
    ["descriptions", (at: number) => ({ description: `Description ${at}.` }), {}],
    [
      "descriptions for any state of the game",
      (at: number) => ({ description: `Description ${at}.` }),
      { "if-match": "*" },
    ],
    ["resources", (at: number) => ({ resources: { memoryMb: 256 + at } }), {}],
  ] as const) {
    it(`are applied one after another, and each response shows the game after its change: ${what}`, async () => {
      const { slug } = await aGame(api.deps, { partnerId: partner.id });
      const changes = Array.from({ length: 25 }, (_, at) => changeOf(at));
      const responses = await carriedOut(slug, changes, headers);
      const etags = responses.map((response) => response.headers.get("etag"));
      expect(new Set(etags), "a state for each").to.have.property("size", changes.length);
      const left = await client.get(`${path}/${slug}`);
      const last = etags.indexOf(left.headers.get("etag"));
      expect(last, "the response that shows the game as it is").to.be.at.least(0);
      expect(left.json()).to.deep.include(changes[last]);
    });
  }
});
