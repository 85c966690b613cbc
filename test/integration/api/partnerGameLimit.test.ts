import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { aGame, aPartner } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiResponse } from "#test/support/http/apiClient.ts";

const path = "/api/partners/games";
/** Of the partner $1: as many as $3 with slugs that begin with $2. */
const insertGames = `INSERT INTO games (partner_id, slug, title, developer, launcher, engine_dir)
  SELECT $1, $2 || '-' || number, 'Game', 'Studio', 'run.sh', 'engine' FROM generate_series(1, $3) number`;

describe("a partner at the limit of games", function () {
  this.timeout(60_000);
  let api: TestApi;

  before(async () => {
    api = await TestApi.start({ kube: true });
  });
  after(() => api.stop());

  it("can neither register a game nor restore a deleted one before deleting one", async () => {
    const partner = await aPartner(api.deps);
    const client = api.asPartner(partner);
    const { slug } = await aGame(api.deps, { partnerId: partner.id });
    expect((await client.delete(`${path}/${slug}`)).status).to.equal(204);
    await api.deps.postgres.pool.query(insertGames, [partner.id, slug, limits.partner.games]);
    expectErrorResponse(await client.post(path, aGameOf(`${slug}-more`)), 409, "conflict");
    expectErrorResponse(await client.post(`${path}/${slug}/restore`), 409, "conflict");
    expect((await client.delete(`${path}/${slug}-1`)).status).to.equal(204);
    expect((await client.post(`${path}/${slug}/restore`)).status).to.equal(200);
  });

  it("never exceeds the limit, however many games are registered and restored at once", async () => {
    const partner = await aPartner(api.deps);
    const client = api.asPartner(partner);
    const { slug } = await aGame(api.deps, { partnerId: partner.id });
    expect((await client.delete(`${path}/${slug}`)).status).to.equal(204);
    await api.deps.postgres.pool.query(insertGames, [partner.id, slug, limits.partner.games - 1]);
    const register = (number: number): Promise<ApiResponse> =>
      client.post(path, aGameOf(`${slug}-more-${number}`));
    const responses = await Promise.all([
      ...Array.from({ length: 8 }, (_, number) => register(number)),
      client.post(`${path}/${slug}/restore`),
    ]);
    const refused = responses.filter(({ status }) => status >= 400);
    for (const response of refused) expectErrorResponse(response, 409, "conflict");
    expect(refused).to.have.lengthOf(8);
    expect(
      await api.deps.postgres.prisma.game.count({ where: { partnerId: partner.id, deletedAt: null } }),
    ).to.equal(limits.partner.games);
  });
});

function aGameOf(slug: string): object {
  return { title: "Game", developer: "Studio", launcher: "run.sh", engineDir: "engine", slug };
}
