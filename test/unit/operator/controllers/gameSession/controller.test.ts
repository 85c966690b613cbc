import { expect } from "chai";
import type { ObjectCache } from "#kube/cache/cache.ts";
import { Controller } from "#kube/controllers/controller.ts";
import type { KubeObject } from "#kube/api/object.ts";
import type { WatchedCache } from "#kube/cache/source.ts";
import { createCluster, type Cluster } from "#operator/cluster/cluster.ts";
import { sessionSources } from "#operator/controllers/gameSession/controller.ts";
import { silentLogger } from "#runtime/logger.ts";
import { aGameNode, aNode } from "#test/factories/gameNode.ts";
import { aCondition, aGameSession } from "#test/factories/gameSession.ts";
import { aSessionPod } from "#test/factories/sessionPod.ts";
import { FakeClock, settle } from "#test/support/clocks/fakeClock.ts";

const waiting = 2_000;
/** Number of nodes, and of sessions and pods that end. */
const others = 100;
const workers = 10;
/** The controller's spacing: changes within this time are handled together. */
const spacingMs = 100;

describe("GameSession controller with two thousand sessions waiting for a place", () => {
  let clock: FakeClock;
  let cluster: Cluster;
  let controller: Controller;
  let passes: string[];
  /** Number of keys of sessions without a place that were looked up. */
  let listed: number;

  beforeEach(() => {
    clock = new FakeClock();
    cluster = createCluster();
    [passes, listed] = [[], 0];
    for (let number = 0; number < waiting; number++)
      cluster.gameSessions.upsert(aGameSession({ metadata: { name: `waits-${number}` } }));
    for (let number = 0; number < others; number++) {
      cluster.gameSessions.upsert(ended(number));
      cluster.pods.upsert(aSessionPod(ended(number)));
      cluster.nodes.upsert(aNode(`node-${number}`));
      cluster.gameNodes.upsert(aGameNode(`node-${number}`));
    }
    const { gameSessions } = cluster;
    const byIndex = gameSessions.byIndex.bind(gameSessions);
    gameSessions.byIndex = (index, value) => {
      const found = byIndex(index, value);
      if (index === "placement") listed += found.length;
      return found;
    };
    const caches = {
      gameSessions: watched(gameSessions),
      pods: watched(cluster.pods),
      nodes: watched(cluster.nodes),
      gameNodes: watched(cluster.gameNodes),
    };
    controller = new Controller({
      name: "gamesession",
      sources: sessionSources(cluster, caches, clock),
      logger: silentLogger,
      clock,
      workers,
      resyncIntervalMs: 600_000,
      reconcile: (key) => Promise.resolve(void passes.push(key)),
    });
  });

  afterEach(() => controller.stop());

  async function start(): Promise<void> {
    await controller.start();
    await settle();
  }

  it("starts with one pass per session, without searching for others", async () => {
    await start();
    expect(passes).to.have.length(waiting + others);
    expect(new Set(passes).size).to.equal(waiting + others);
    expect(listed, "keys looked up").to.equal(0);
  });

  it("reconciles all of them every ten minutes in the same way", async () => {
    await start();
    passes.length = 0;
    await clock.advance(600_000);
    expect(new Set(passes).size).to.equal(waiting + others);
    // An idle worker may have started before the session's pod is processed.
    expect(passes).to.have.length.at.most(waiting + others + workers);
    expect(listed, "keys looked up").to.equal(0);
  });

  const changes: [string, (number: number) => unknown][] = [
    ["sessions go", (number) => cluster.gameSessions.remove(ended(number, "2"))],
    ["pods go", (number) => cluster.pods.remove(aSessionPod(ended(number)))],
    ["nodes come back", (number) => cluster.nodes.upsert(newer(aNode(`node-${number}`, { isReady: false })))],
    [
      "nodes begin to take sessions",
      (number) =>
        cluster.gameNodes.upsert(
          newer(aGameNode(`node-${number}`, { status: { conditions: [aCondition("Ready")] } })),
        ),
    ],
  ];
  for (const [what, change] of changes) {
    it(`lists them twice rather than a hundred times when a hundred ${what} at once`, async () => {
      await start();
      for (let number = 0; number < others; number++) change(number);
      await clock.advance(2 * spacingMs);
      expect(listed, "keys looked up").to.equal(2 * waiting);
    });
  }
});

/** Returns a finished session that still exists. */
function ended(number: number, resourceVersion = "1") {
  return aGameSession({
    metadata: { name: `ended-${number}`, resourceVersion },
    status: { conditions: [aCondition("Finished")] },
  });
}

function newer<T extends KubeObject>(object: T): T {
  return { ...object, metadata: { ...object.metadata, resourceVersion: "2" } };
}

function watched<T extends KubeObject, I extends string>(cache: ObjectCache<T, I>): WatchedCache<T> {
  return { cache, waitForSync: () => Promise.resolve() };
}
