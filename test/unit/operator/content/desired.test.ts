import { expect } from "chai";
import type { GameCache, GameCacheSpec } from "#contracts/crd/gameCache.ts";
import type { CacheEntry, DesiredContent } from "#contracts/crd/gameNode.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { aGameCache, anArchiveSource } from "#test/factories/gameCache.ts";
import { aCacheEntry } from "#test/factories/gameNode.ts";
import {
  aCondition,
  aDigest,
  aGameSession,
  aPlacedStatus,
  aRunningStatus,
  createdAt,
} from "#test/factories/gameSession.ts";
import { desiredOn as desiredOnNode, wantedByPolicy } from "#operator/content/desired.ts";
import { fillOf, type FillNode } from "#operator/content/fill.ts";

const node = (
  nodeName: string,
  state?: CacheEntry["state"],
  overrides: Partial<FillNode> = {},
): FillNode => ({
  nodeName,
  labels: {},
  isSchedulable: true,
  entries: state === undefined ? [] : [aCacheEntry({ state })],
  ...overrides,
});
const older = anArchiveSource("c".repeat(64));

function desiredOn(
  nodeName: string,
  nodes: FillNode[],
  caches: GameCache[],
  sessions: GameSession[],
): DesiredContent[] {
  return desiredOnNode(
    nodes.find((one) => one.nodeName === nodeName),
    wantedByPolicy(nodes, caches).get(nodeName) ?? [],
    caches,
    sessions,
  );
}

describe("fillOf", () => {
  const cases: [string, Partial<GameCacheSpec>, FillNode[], Record<string, boolean>][] = [
    [
      "fills all nodes, two at a time",
      {},
      [node("a"), node("b"), node("c")],
      { a: false, b: false, c: true },
    ],
    [
      "fills one node at a time if the rollout limits it",
      { rollout: { maxParallelNodes: 1 } },
      [node("a"), node("b")],
      { a: false, b: true },
    ],
    [
      "fills the next node when one is done",
      { rollout: { maxParallelNodes: 1 } },
      [node("a", "Ready"), node("b")],
      { a: false, b: false },
    ],
    [
      "continues with the node that has begun",
      { rollout: { maxParallelNodes: 1 } },
      [node("a"), node("b", "Downloading")],
      { a: true, b: false },
    ],
    [
      "fills a node that failed last",
      { rollout: { maxParallelNodes: 1 } },
      [node("a", "Failed"), node("b")],
      { a: true, b: false },
    ],
    [
      "fills a node that takes no sessions last",
      { rollout: { maxParallelNodes: 1 } },
      [node("a", undefined, { isSchedulable: false }), node("b")],
      { a: true, b: false },
    ],
    [
      "fills a node that takes no sessions last, even if it has begun",
      { rollout: { maxParallelNodes: 1 } },
      [node("a", "Downloading", { isSchedulable: false }), node("b")],
      { a: true, b: false },
    ],
    [
      "fills a node that takes no sessions when the others are done",
      { rollout: { maxParallelNodes: 1 } },
      [node("a", undefined, { isSchedulable: false }), node("b", "Ready")],
      { a: false, b: false },
    ],
    [
      "lets no node fetch while the cache is suspended",
      { suspend: true },
      [node("a", "Ready"), node("b")],
      { a: false, b: true },
    ],
    ["fills no node for policy OnDemand", { placement: { policy: "OnDemand" } }, [node("a")], {}],
    [
      "fills only nodes with the labels",
      { placement: { policy: "All", nodeSelector: { disk: "fast" } } },
      [node("a"), node("b", undefined, { labels: { disk: "fast" } })],
      { b: false },
    ],
    [
      "prefers nodes that hold the version for policy Count",
      { placement: { policy: "Count", count: 1 } },
      [node("a"), node("b"), node("c", "Ready")],
      { c: false },
    ],
    [
      "does not choose an unschedulable node that holds the version for policy Count",
      { placement: { policy: "Count", count: 1 } },
      [node("a", "Ready", { isSchedulable: false }), node("b")],
      { b: false },
    ],
    [
      "chooses an unschedulable node for policy Count if there are too few others",
      { placement: { policy: "Count", count: 2 } },
      [node("a", undefined, { isSchedulable: false }), node("b")],
      { a: false, b: false },
    ],
    [
      "chooses all nodes if there are fewer than policy Count requests",
      { placement: { policy: "Count", count: 5 } },
      [node("a")],
      { a: false },
    ],
  ];
  for (const [what, spec, nodes, holds] of cases) {
    it(what, () => {
      const fill = fillOf(aGameCache({ spec }), nodes);
      expect(Object.fromEntries([...fill].map(([name, { hold }]) => [name, hold]))).to.deep.equal(holds);
    });
  }

  it("spreads games over nodes deterministically", () => {
    const nodes = ["a", "b", "c", "d"].map((name) => node(name));
    const chosen = (name: string): string[] => [
      ...fillOf(
        aGameCache({ metadata: { name }, spec: { placement: { policy: "Count", count: 1 } } }),
        nodes,
      ).keys(),
    ];
    const games = Array.from({ length: 20 }, (_, index) => `game-${index}`);
    expect(new Set(games.flatMap(chosen)).size).to.be.greaterThan(2);
    expect(games.flatMap(chosen)).to.deep.equal(games.flatMap(chosen));
  });
});

describe("desiredOn", () => {
  const onDemand = aGameCache({ spec: { placement: { policy: "OnDemand" }, previousSources: [older] } });
  const waiting = aGameSession({ status: aPlacedStatus({ nodeName: "a" }) });

  it("requests the current version and keeps the configured number of older ones where they exist", () => {
    const cache = aGameCache({
      spec: {
        previousSources: [older, anArchiveSource("d".repeat(64))],
        keepVersions: 2,
        rollout: { maxParallelNodes: 1, bytesPerSecond: 5000 },
      },
    });
    expect(desiredOn("a", [node("a")], [cache], [])).to.deep.equal([
      {
        digest: aDigest,
        source: anArchiveSource(),
        priority: 0,
        pinned: false,
        hold: false,
        bytesPerSecond: 5000,
      },
      { digest: older.sha256, source: older, priority: 0, pinned: false, hold: true, bytesPerSecond: 5000 },
    ]);
  });

  it("requests the version that a placed session waits for first, without a rate limit", () => {
    const other = aGameCache({ metadata: { name: "other" }, spec: { priority: 900, source: older } });
    const list = desiredOn("a", [node("a")], [other, onDemand], [waiting]);
    expect(list.map(({ digest, priority }) => [digest[0], priority])).to.deep.equal([
      ["a", 1000],
      ["c", 900],
    ]);
    expect(list[0]).to.not.have.property("bytesPerSecond");
  });

  it("fetches a session's version regardless of turns", () => {
    const list = desiredOn(
      "b",
      [node("a"), node("b")],
      [aGameCache({ spec: { rollout: { maxParallelNodes: 1 } } })],
      [aGameSession({ status: aPlacedStatus({ nodeName: "b" }) })],
    );
    expect(list).to.have.length(1);
    expect(list[0]).to.include({ priority: 1000, hold: false });
  });

  it("requests an older version that a session is pinned to", () => {
    const session = aGameSession({
      spec: { contentDigest: older.sha256 },
      status: aPlacedStatus({ nodeName: "a" }),
    });
    expect(desiredOn("a", [node("a")], [onDemand], [session])[0]).to.deep.include({ source: older });
  });

  const quiet: [string, Parameters<typeof desiredOn>[3], FillNode][] = [
    ["has its files", [aGameSession({ status: { ...aRunningStatus(), nodeName: "a" } })], node("a")],
    ["is on a node that holds it", [waiting], node("a", "Ready")],
    [
      "is ending",
      [aGameSession({ status: aPlacedStatus({ nodeName: "a", stoppingAt: createdAt }) })],
      node("a"),
    ],
    [
      "is finished",
      [aGameSession({ status: aPlacedStatus({ nodeName: "a", conditions: [aCondition("Finished")] }) })],
      node("a"),
    ],
    ["is on another node", [aGameSession({ status: aPlacedStatus({ nodeName: "b" }) })], node("a")],
    [
      "names a game that does not exist",
      [aGameSession({ spec: { gameCacheRef: { name: "none" } }, status: aPlacedStatus({ nodeName: "a" }) })],
      node("a"),
    ],
  ];
  for (const [what, sessions, where] of quiet) {
    it(`requests nothing if the session ${what}`, () =>
      expect(desiredOn("a", [where], [onDemand], sessions)).to.deep.equal([]));
  }

  it("requests nothing for a cache that is being deleted", () => {
    expect(
      desiredOn("a", [node("a")], [aGameCache({ metadata: { deletionTimestamp: createdAt } })], [waiting]),
    ).to.deep.equal([]);
  });

  const elsewhere: [string, Partial<GameCacheSpec>][] = [
    ["whose policy is OnDemand", { placement: { policy: "OnDemand" } }],
    ["whose policy selects other nodes", { placement: { policy: "All", nodeSelector: { disk: "fast" } } }],
    ["whose policy Count has chosen another node", { placement: { policy: "Count", count: 1 } }],
  ];
  for (const [what, spec] of elsewhere) {
    it(`keeps a pinned game ${what} where it exists, and fetches it nowhere else`, () => {
      const nodes = [
        node("a", "Ready", { isSchedulable: false }),
        node("b", "Failed"),
        node("c", "Ready", { labels: { disk: "fast" } }),
        node("d"),
      ];
      const held = { digest: aDigest, source: anArchiveSource(), priority: 3, pinned: true, hold: true };
      expect(
        desiredOn("a", nodes, [aGameCache({ spec: { ...spec, priority: 3, pinned: true } })], []),
      ).to.deep.equal([held]);
      expect(
        desiredOn("a", nodes, [aGameCache({ spec: { ...spec, priority: 3 } })], []),
        "not pinned",
      ).to.deep.equal([]);
      for (const name of ["b", "d"])
        expect(
          desiredOn(name, nodes, [aGameCache({ spec: { ...spec, pinned: true } })], []),
          name,
        ).to.deep.equal([]);
    });
  }

  it("continues a launch's download of an on-demand game, and starts it nowhere else", () => {
    const nodes = [
      node("a", "Downloading"),
      node("b", "Queued"),
      node("c", "Failed"),
      node("d", "Ready"),
      node("e"),
    ];
    expect(desiredOn("a", nodes, [onDemand], [])).to.deep.equal([
      { digest: aDigest, source: anArchiveSource(), priority: 0, pinned: false, hold: true },
    ]);
    expect(desiredOn("a", nodes, [onDemand], [waiting])).to.deep.equal([
      { digest: aDigest, source: anArchiveSource(), priority: 1000, pinned: false, hold: false },
    ]);
    for (const name of ["b", "c", "d", "e"])
      expect(desiredOn(name, nodes, [onDemand], []), name).to.deep.equal([]);
  });

  it("keeps the configured number of older versions of a pinned game where they exist, for any policy", () => {
    const spec: Partial<GameCacheSpec> = {
      placement: { policy: "OnDemand" },
      pinned: true,
      keepVersions: 2,
      previousSources: [older, anArchiveSource("d".repeat(64))],
    };
    const holder = node("a", undefined, {
      entries: ["c", "d"].map((letter) => aCacheEntry({ digest: letter.repeat(64) })),
    });
    expect(desiredOn("a", [holder], [aGameCache({ spec })], [])).to.deep.equal([
      { digest: older.sha256, source: older, priority: 0, pinned: true, hold: true },
    ]);
  });

  it("merges two games that share an archive by the more urgent one", () => {
    const first = aGameCache({
      spec: { priority: 1, suspend: true, rollout: { maxParallelNodes: 1, bytesPerSecond: 2000 } },
    });
    const second = aGameCache({ metadata: { name: "same" }, spec: { priority: 7, pinned: true } });
    expect(desiredOn("a", [node("a")], [first, second], [])).to.deep.equal([
      { digest: aDigest, source: anArchiveSource(), priority: 7, pinned: true, hold: false },
    ]);
  });

  it("requests at most as many versions as a GameNode may list, the most urgent first", () => {
    const caches = Array.from({ length: 300 }, (_, index) =>
      aGameCache({
        metadata: { name: `g${index}` },
        spec: { priority: index, source: anArchiveSource(index.toString(16).padStart(64, "0")) },
      }),
    );
    const list = desiredOn("a", [node("a")], caches, []);
    expect(list).to.have.length(256);
    expect(list[0]?.priority).to.equal(299);
  });

  describe("with more games than a node can list", () => {
    const game = (index: number, spec: Partial<GameCacheSpec> = {}): GameCache =>
      aGameCache({
        metadata: { name: `g${index}` },
        spec: { source: anArchiveSource(index.toString(16).padStart(64, "0")), ...spec },
      });
    const games = (count: number, spec: Partial<GameCacheSpec> = {}): GameCache[] =>
      Array.from({ length: count }, (_, index) => game(index, spec));
    const digestsOn = (name: string, nodes: FillNode[], caches: GameCache[]): string[] =>
      desiredOn(name, nodes, caches, []).map(({ digest }) => digest);
    const three = ["a", "b", "c"].map((name) => node(name));

    it("requests each game somewhere if all have the same priority", () => {
      for (const count of [300, 700]) {
        const lists = three.map(({ nodeName }) => digestsOn(nodeName, three, games(count)));
        for (const list of lists) expect(list).to.have.length(256);
        expect(new Set(lists.flat()).size).to.equal(count);
      }
    });

    it("lets a node with room fetch a game without waiting for nodes without room", () => {
      const rollout = { maxParallelNodes: 1 };
      const fetched = three.flatMap(({ nodeName }) =>
        desiredOn(nodeName, three, games(300, { rollout }), []).filter(({ hold }) => !hold),
      );
      expect(new Set(fetched.map(({ digest }) => digest)).size).to.equal(300);
      expect(fetched).to.have.length(300);
    });

    it("requests the same games after an upload of one of them", () => {
      const before = three.map(({ nodeName }) => digestsOn(nodeName, three, games(300)));
      const [first] = games(300);
      const next = anArchiveSource("f".repeat(64));
      const after = three.map(({ nodeName }) =>
        digestsOn(nodeName, three, [game(0, { source: next }), ...games(300).slice(1)]),
      );
      const renamed = after.map((list) =>
        list.map((digest) => (digest === next.sha256 ? first?.spec.source.sha256 : digest)).sort(),
      );
      expect(renamed).to.deep.equal(before.map((list) => list.sort()));
    });

    it("omits older versions before current ones, and never a pinned game", () => {
      const previous = (index: number): Partial<GameCacheSpec> => ({
        priority: 9,
        keepVersions: 2,
        previousSources: [anArchiveSource((4096 + index).toString(16).padStart(64, "0"))],
      });
      const caches = [
        ...games(250).map((_, index) => game(index, previous(index))),
        ...[400, 401].map((index) => game(index, { priority: -9, pinned: true })),
      ];
      const list = digestsOn("a", [node("a")], caches);
      expect(list).to.have.length(256);
      expect(list).to.include.members(caches.map(({ spec }) => spec.source.sha256));
      const more = [...games(300, { priority: 9 }), game(400, { priority: -9, pinned: true })];
      expect(digestsOn("a", [node("a")], more)).to.include(more.at(-1)?.spec.source.sha256);
    });

    it("requests a session's version even if the list is full", () => {
      const caches = games(300, { pinned: true, priority: 1000 });
      const missing = caches.find(
        ({ spec }) => !digestsOn("a", [node("a")], caches).includes(spec.source.sha256),
      );
      const { name = "", sha256 = "" } = {
        name: missing?.metadata.name,
        sha256: missing?.spec.source.sha256,
      };
      const session = aGameSession({
        spec: { gameCacheRef: { name }, contentDigest: sha256 },
        status: aPlacedStatus({ nodeName: "a" }),
      });
      const list = desiredOn("a", [node("a")], caches, [session]);
      expect(list).to.have.length(256);
      expect(list.find(({ digest }) => digest === sha256)).to.include({ hold: false, priority: 1000 });
    });
  });
});
