import fc from "fast-check";
import { TestApi } from "#test/support/http/api.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { games, platformCommands, users } from "#test/support/model/commands.ts";
import type { PlatformModel } from "#test/support/model/platformModel.ts";
import { RealPlatform } from "#test/support/model/realPlatform.ts";
import { operatorOf, type FakeOperator } from "#test/support/cluster/fakeOperator.ts";

/** The same worlds in every run; another seed is another set of them. */
const seed = 20_261_121;
const worlds = 8;
const steps = 45;

describe("users, games, sessions and uploads in any order", function () {
  this.timeout(120_000);
  let api: TestApi;
  let operator: FakeOperator;

  before(async () => {
    const plenty = "10000";
    api = await TestApi.start({
      kube: true,
      minio: true,
      env: {
        LAUNCHES_PER_MINUTE: plenty,
        LAUNCHES_PER_HOUR: plenty,
        CATALOG_REQUESTS_PER_MINUTE: plenty,
        PARTNER_REQUESTS_PER_MINUTE: plenty,
        PARTNER_UPLOADS_PER_HOUR: plenty,
      },
    });
    operator = operatorOf(api);
    await operator.addNode(100);
    await eventually(() =>
      api.deps.cluster.gameNodes.cache.list().some(({ status }) => status?.capacity !== undefined),
    );
  });
  after(async () => {
    await operator.removeNodes();
    await api.stop();
  });

  async function newWorld(): Promise<{ model: PlatformModel; real: RealPlatform }> {
    const real = await RealPlatform.start(api, operator, users);
    const model: PlatformModel = { games: [], sessions: [], favorites: new Set(), slots: new Map() };
    for (let game = 0; game < games; game++)
      model.games.push({ ...(await real.registerGame()), status: "pending_upload", checksum: undefined });
    for (const game of model.games.slice(1))
      Object.assign(game, { status: "active", checksum: await real.upload(game.slug) });
    return { model, real };
  }

  it("keep one active session per user, every save, statuses that only move forward, repeatable stops, and each mark", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(platformCommands, { minLength: steps, maxLength: steps }),
        async (commands) => {
          await fc.asyncModelRun(newWorld, commands);
        },
      ),
      { seed, numRuns: worlds, endOnFailure: true },
    );
  });
});
