import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "chai";
import { apiVersion } from "#contracts/http/service.ts";
import { programPath, repositoryRoot } from "#test/support/processes/programs.ts";
import { runYielding } from "#test/support/processes/yieldingProgram.ts";
import type { FrameGap } from "#test/support/session/frameGap.ts";
import { FreshCluster } from "#test/e2e/support/freshCluster.ts";
import { publishGame, gameArchive } from "#test/e2e/support/games.ts";
import { Platform, releaseNamespace, usePlatform } from "#test/e2e/support/platform.ts";
import { playersOfSuite } from "#test/e2e/support/players.ts";
import { buildReleaseBefore, todaysImages, type ReleaseBefore } from "#test/e2e/support/releaseBefore.ts";
import { WatchedGames, textOfGaps, type FailedRequest } from "#test/e2e/support/watchedGames.ts";

const card = { slug: "testcard", title: "Test Card" };
const maxAddedGapMs = 1_000;
/**
 * The release before lets go of its port when it is told to end, a moment before every proxy has heard of
 * that.
 */
const formerEndMs = 3_000;

/**
 * Games of both releases tolerate it, and API, operator and stores do not: as a rule they have nodes of their
 * own.
 */
const gpuTaint = "nvidia.com/gpu=present:NoSchedule";

/**
 * For both releases: pictures that two cores draw, encode and show four times, and no limits for pages that
 * ask all the time.
 */
const values = {
  stores: { bundled: true },
  gpu: { resourceName: "" },
  api: {
    idleTimeoutSeconds: 60,
    service: { type: "NodePort", nodePort: 30080 },
    env: {
      STREAM_WIDTH: "640",
      STREAM_HEIGHT: "360",
      STREAM_FRAMES_PER_SECOND: "15",
      POLLS_PER_MINUTE: "100000",
      CATALOG_REQUESTS_PER_MINUTE: "100000",
    },
  },
  nodeAgent: { saveIntervalSeconds: 10 },
};

describe("while four games are played, the upgrade from an earlier release", function () {
  this.timeout(60 * 60_000);
  const players = playersOfSuite();
  let cluster: FreshCluster;
  let created: FreshCluster | undefined;
  let former: ReleaseBefore;
  let games: WatchedGames | undefined;

  before(async () => {
    former = await buildReleaseBefore();
    cluster = created = await FreshCluster.create("upgrade", {
      gameNodes: 2,
      taint: gpuTaint,
      areGameNodesFirst: true,
    });
    for (const images of [former.images, todaysImages]) await cluster.loadImages(images);
    await helm("install", former.chart, former.images, "--create-namespace", "--wait");
    usePlatform(await Platform.at(cluster));
    await publishGame("testcard", card, await gameArchive("testcard"));
  });
  afterEach(() => games?.stop());
  after(async () => {
    usePlatform(undefined);
    await created?.delete();
  });

  async function helm(
    action: "install" | "upgrade",
    chart: string,
    imagesFile: string,
    ...args: string[]
  ): Promise<void> {
    const valuesFile = join(dirname(cluster.kubeconfig), "values.json");
    await writeFile(
      valuesFile,
      JSON.stringify({ ...values, api: { ...values.api, baseUrl: cluster.baseUrl } }),
    );
    // An admin's machine is none of the cluster's.
    await runYielding(
      await programPath("helm"),
      [
        "--kubeconfig",
        cluster.kubeconfig,
        "--namespace",
        releaseNamespace,
        action,
        "joypod",
        chart,
        "--values",
        imagesFile,
        "--values",
        valuesFile,
        "--timeout",
        "8m",
        ...args,
      ],
      10 * 60_000,
    );
  }

  /**
   * Takes what became of the games since the last call; every one is in its pod, and shows so many key
   * presses.
   */
  async function take(watched: WatchedGames, presses: number): Promise<Disturbance> {
    const disturbance = { failed: watched.takeFailed(), addedGaps: await watched.takeAddedGaps() };
    await watched.areUntouched(presses);
    return disturbance;
  }

  it("and the rollback fail no request, keep each game in its pod with a moving picture, and keep what was played", async () => {
    const watched = (games = await WatchedGames.start(players, card, 4));
    await helm("upgrade", join(repositoryRoot, "charts/joypod"), todaysImages, "--wait", "--wait-for-jobs");
    const upgrade = await take(watched, 1);
    // By the new page and the new API, from the streamer of before, which knows no tickets.
    await watched.page.reloadToOther();
    const reload = await take(watched, 2);
    const returnedAt = new Date().toISOString();

    // `helm rollback` would take the kinds' definitions back as well, which the cluster refuses.
    await helm("upgrade", former.chart, former.images, "--set", "crds.install=false", "--wait");
    const back = await take(watched, 3);
    await watched.stop();
    // The newer page stays open until its player loads the one that is served now.
    await watched.page.reloadToOther();
    // More than once, as only the newer release knows who owns a slot.
    for (let count = 0; count < 3; count++) await watched.page.stopAndPlayOn(card, 3);

    const failed = [...upgrade.failed, ...reload.failed, ...back.failed];
    const unconnected = failed.filter((failure) => failure.at < returnedAt && isUnconnected(failure));
    expect(
      durationMsOf(unconnected),
      "milliseconds in which the former API, which ended, was asked in vain",
    ).to.be.at.most(formerEndMs);
    const refused = failed.filter((failure) => !unconnected.includes(failure) && !isWithoutPostgres(failure));
    const gaps = `the gaps between frames that the upgrade added: ${textOfGaps(upgrade.addedGaps)}; the way back: ${textOfGaps(back.addedGaps)}`;
    expect(refused, `requests that were refused, on either way, beside ${gaps}`).to.deep.equal([]);
    for (const { milliseconds } of [...upgrade.addedGaps, ...back.addedGaps])
      expect(milliseconds, gaps).to.be.at.most(maxAddedGapMs);
  });
});

/** What disturbed the games on one of the ways. */
interface Disturbance {
  failed: FailedRequest[];
  addedGaps: FrameGap[];
}

function isUnconnected({ response }: FailedRequest): boolean {
  return /ECONNREFUSED|ECONNRESET|UND_ERR_SOCKET|UND_ERR_CONNECT_TIMEOUT/.test(String(response));
}

/**
 * The bundled Postgres is one, and starts again on both ways: the library says so until it is back, and what
 * players of a game ask for does without. Not so by the release before, whose API says it of everything.
 */
function isWithoutPostgres({ asked, response, hasRetryAfter, apiVersion: answered }: FailedRequest): boolean {
  return response === 503 && hasRetryAfter && (asked === "library" || answered !== apiVersion);
}

function durationMsOf(failed: readonly FailedRequest[]): number {
  const times = failed.map(({ at }) => Date.parse(at));
  return times.length === 0 ? 0 : Math.max(...times) - Math.min(...times);
}
