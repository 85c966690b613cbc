import { expect } from "chai";
import type { Condition } from "#contracts/crd/kind.ts";
import type { CacheEntry, DesiredContent, GameNodeStatus } from "#contracts/crd/gameNode.ts";
import { setCondition } from "#kube/api/conditions.ts";
import { fillEndsInMs, filledOf, isFilling } from "#operator/nodes/nodeFill.ts";
import { anArchiveSource } from "#test/factories/gameCache.ts";
import { aCacheEntry, aGameNode } from "#test/factories/gameNode.ts";
import { after } from "#test/factories/gameSession.ts";

const [first, second] = ["a".repeat(64), "b".repeat(64)];
const pinned = [first, second].map((digest): DesiredContent => ({
  digest,
  source: anArchiveSource(digest),
  priority: 0,
  pinned: true,
  hold: false,
}));
const fillDeadlineMs = 900_000;

/** Tracks condition Filled of a new node over time, based on its previous value. */
class NewNode {
  conditions: Condition[] = [];

  see(
    seconds: number,
    entries: CacheEntry[],
    status: Partial<GameNodeStatus> = {},
    wanted = pinned,
  ): Condition {
    const gameNode = aGameNode("node1", { entries, status: { conditions: this.conditions, ...status } });
    const world = { gameNode, pinned: wanted, fillDeadlineMs, now: after(seconds) };
    this.conditions = setCondition<Condition>(this.conditions, filledOf(world), world.now);
    return this.conditions[0]!;
  }
}

describe("filledOf", () => {
  const there = (digest: string): CacheEntry => aCacheEntry({ digest });

  it("returns False with the progress while a new node downloads its pinned games", () => {
    const node = new NewNode();
    expect(node.see(0, [], { heartbeat: undefined })).to.include({
      status: "Unknown",
      reason: "NotReported",
    });
    expect(node.see(5, [])).to.include({ status: "False", reason: "Filling" });
    expect(isFilling(node.conditions)).to.equal(true);
    expect(
      node.see(9, [there(first), aCacheEntry({ digest: second, state: "Downloading", progressPercent: 40 })])
        .message,
    ).to.match(/^1 of 2 pinned games are on the node, 70 % of 0\.0 GB/);
    expect(node.see(20, [there(first), there(second)])).to.include({
      status: "True",
      reason: "PinnedGamesHeld",
    });
    expect(isFilling(node.conditions)).to.equal(false);
  });

  it("stays True if a game is pinned later or evicted", () => {
    const node = new NewNode();
    expect(node.see(0, [], {}, [])).to.include({ status: "True", reason: "PinnedGamesHeld" });
    expect(node.see(1, [])).to.include({ status: "True", reason: "PinnedGamesHeld" });
  });

  it("counts the deadline from the agent's first report, and returns True after it", () => {
    const node = new NewNode();
    node.see(0, [], { heartbeat: undefined });
    node.see(600, []);
    expect(node.see(1499, [])).to.include({ status: "False" });
    expect(
      fillEndsInMs(
        aGameNode("node1", { status: { conditions: node.conditions } }),
        fillDeadlineMs,
        after(1499),
      ),
    ).to.equal(1000);
    expect(node.see(1500, [there(first)])).to.include({ status: "True", reason: "NotInTime" });
    expect(
      fillEndsInMs(
        aGameNode("node1", { status: { conditions: node.conditions } }),
        fillDeadlineMs,
        after(1500),
      ),
    ).to.equal(0);
  });

  it("returns True for a node of an earlier release", () => {
    expect(new NewNode().see(901, [])).to.include({ status: "True", reason: "NotInTime" });
  });
});
