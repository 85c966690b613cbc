import { expect } from "chai";
import { publishSmallTestCard } from "#test/e2e/support/games.ts";
import { nodesNamespace, platform, releaseNamespace } from "#test/e2e/support/platform.ts";
import { playersOfSuite } from "#test/e2e/support/players.ts";
import { WatchedGames, textOfGaps } from "#test/e2e/support/watchedGames.ts";

const maxAddedGapMs = 1_000;

describe("while four games are played, a rolling restart", () => {
  const players = playersOfSuite();
  let games: WatchedGames | undefined;

  afterEach(async () => {
    await games?.stop();
    games = undefined;
  });

  async function play(): Promise<WatchedGames> {
    return (games = await WatchedGames.start(players, await publishSmallTestCard(), 4));
  }

  async function restart(namespace: string, what: string): Promise<void> {
    const installed = await platform();
    await installed.kubectl(["-n", namespace, "rollout", "restart", what]);
    await installed.kubectl(["-n", namespace, "rollout", "status", what, "--timeout=170s"]);
  }

  async function expectSmooth(watched: WatchedGames, what: string): Promise<void> {
    const addedGaps = await watched.takeAddedGaps();
    for (const { milliseconds } of addedGaps)
      expect(
        milliseconds,
        `the gaps between frames that the restart of ${what} added: ${textOfGaps(addedGaps)}`,
      ).to.be.at.most(maxAddedGapMs);
  }

  it("of API, operator and node agents fails no request, and keeps each game in its pod with a moving picture", async () => {
    const watched = await play();
    for (const [namespace, what] of [
      [releaseNamespace, "deploy/joypod-api"],
      [releaseNamespace, "deploy/joypod-operator"],
      [nodesNamespace, "ds/joypod-node-agent"],
    ] as const) {
      await restart(namespace, what);
      expect(watched.takeFailed(), what).to.deep.equal([]);
      await expectSmooth(watched, what);
    }
    await watched.areUntouched(1);
  });

  it("of the unreplicated stores fails no keepalive or status request, and keeps each game in its pod with a moving picture", async () => {
    const watched = await play();
    for (const what of [
      "statefulset/joypod-redis",
      "statefulset/joypod-minio",
      "statefulset/joypod-postgres",
    ]) {
      await restart(releaseNamespace, what);
      const failed = watched.takeFailed();
      expect(
        failed.filter(({ asked }) => asked !== "library"),
        what,
      ).to.deep.equal([]);
      // Without Postgres the library says so until it is back.
      for (const failure of failed) expect(failure, what).to.include({ response: 503, hasRetryAfter: true });
      await expectSmooth(watched, what);
    }
    await watched.areUntouched(1);
  });
});
