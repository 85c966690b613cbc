import { expect } from "chai";
import fc from "fast-check";
import { createCluster } from "#operator/cluster/cluster.ts";
import { sessionsOn } from "#operator/nodes/occupancy.ts";
import { TakenSlots } from "#operator/nodes/takenSlots.ts";
import { aCondition, aGameSession, aPlacedStatus } from "#test/factories/gameSession.ts";
import { aSessionPod, ended, running } from "#test/factories/sessionPod.ts";

const nodes = ["node1", "node2", "node3"];
const change = fc.record({
  session: fc.constantFrom("a", "b", "c", "d"),
  node: fc.constantFrom(...nodes),
  what: fc.constantFrom("place", "finish", "remove", "run", "end", "remove pod", "assign", "unassign"),
});

describe("TakenSlots", () => {
  it("counts each session once, whatever has happened and however it is known", () => {
    fc.assert(fc.property(fc.array(change, { maxLength: 60 }), fc.nat(60), (changes, startedAt) => {
      const cluster = createCluster();
      const assigned = new Map<string, string>();
      let taken: TakenSlots | undefined;
      changes.forEach(({ session: name, node, what }, index) => {
        if (index === startedAt) taken = new TakenSlots(cluster);
        const metadata = { name, resourceVersion: String(index + 2) };
        const session = (finished: boolean) => aGameSession({ metadata, status: aPlacedStatus({ nodeName: node, ...(finished ? { conditions: [aCondition("Finished")] } : {}) }) });
        const pod = (status: typeof running) => {
          const made = aSessionPod(session(false), { status, nodeName: node });
          made.metadata.resourceVersion = metadata.resourceVersion;
          return made;
        };
        if (what === "place") cluster.gameSessions.upsert(session(false));
        if (what === "finish") cluster.gameSessions.upsert(session(true));
        if (what === "remove") cluster.gameSessions.remove(session(false));
        if (what === "run") cluster.pods.upsert(pod(running));
        if (what === "end") cluster.pods.upsert(pod(ended()));
        if (what === "remove pod") cluster.pods.remove(pod(running));
        if (taken === undefined || !what.endsWith("assign")) return;
        if (what === "assign") assigned.set(name, node);
        else assigned.delete(name);
        taken.assign(name, what === "assign" ? node : undefined);
      });
      for (const node of taken === undefined ? [] : nodes) {
        const names = sessionsOn(cluster, node);
        for (const [name, place] of assigned) if (place === node) names.add(name);
        expect(taken?.countOn(node, "nobody"), node).to.equal(names.size);
        expect(taken?.countOn(node, "a"), node).to.equal(names.size - (names.has("a") ? 1 : 0));
      }
    }), { numRuns: 300 });
  });
});
