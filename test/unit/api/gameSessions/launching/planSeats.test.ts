import { expect } from "chai";
import { planSeats, type SeatPlan } from "#api/gameSessions/launching/planSeats.ts";
import type { QueuedLaunch } from "#api/gameSessions/launching/launchQueries.ts";
import type { Shortage } from "#contracts/crd/capacity.ts";

interface Wish {
  id: string;
  memory?: number;
  hasSeat?: boolean;
  passedSeconds?: number;
}

function aLaunch({ id, memory = 1, hasSeat = false, passedSeconds }: Wish): QueuedLaunch {
  return {
    id,
    resources: { cpuMillicores: 0, memoryBytes: memory, memoryLimitBytes: memory, gpuShare: 1 },
    saveVolumeBytes: 0,
    hasSeat,
    passedSeconds: passedSeconds ?? null,
  };
}

/** One node with `total` memory, of which `free` is left. */
function plan(queue: readonly Wish[], { slots = 1, free = 100, total = 100 } = {}): SeatPlan {
  let [freeSlots, freeMemory] = [slots, free];
  return planSeats(queue.map(aLaunch), {
    get freeSlots() {
      return freeSlots;
    },
    shortageFor: ({ resources: { memoryBytes } }): Shortage | undefined =>
      memoryBytes <= freeMemory
        ? undefined
        : {
            lacks: ["memory"],
            isTooLarge: memoryBytes > total,
            needed: { slots: 1, cpuMillicores: 0, memoryBytes },
          },
    take: ({ resources: { memoryBytes } }) => {
      freeSlots -= 1;
      freeMemory -= memoryBytes;
    },
  });
}

const none = { seated: [], passed: [], hopeless: [] };

describe("planSeats", () => {
  it("seats launches in order of arrival while slots are free", () => {
    const queue = [{ id: "a" }, { id: "b" }, { id: "c" }];
    expect(plan(queue, { slots: 2 })).to.deep.equal({ ...none, seated: ["a", "b"] });
    expect(plan(queue, { slots: 0 })).to.deep.equal(none);
    expect(plan([], { slots: 2 })).to.deep.equal(none);
  });

  it("skips launches that have a seat", () => {
    expect(plan([{ id: "a", hasSeat: true }, { id: "b" }])).to.deep.equal({ ...none, seated: ["b"] });
  });

  it("lets a later launch pass one that fits nowhere now", () => {
    const queue = [{ id: "large", memory: 50 }, { id: "b" }, { id: "c" }];
    expect(plan(queue, { slots: 2, free: 10 })).to.deep.equal({
      ...none,
      seated: ["b", "c"],
      passed: ["large"],
    });
  });

  it("does not call a launch passed that nobody passes", () => {
    expect(plan([{ id: "large", memory: 50 }], { free: 10 })).to.deep.equal(none);
  });

  it("keeps the room for a launch that was first passed ten minutes ago", () => {
    const queue = (passedSeconds: number) => [{ id: "large", memory: 50, passedSeconds }, { id: "b" }];
    expect(plan(queue(599), { free: 10 }).seated).to.deep.equal(["b"]);
    expect(plan(queue(600), { free: 10 })).to.deep.equal(none);
    expect(plan(queue(600), { free: 50 }).seated).to.deep.equal(["large"]);
  });

  it("gives up a launch that no node is large enough for, and goes on with the next", () => {
    const queue = [{ id: "huge", memory: 101, passedSeconds: 600 }, { id: "b" }];
    expect(plan(queue)).to.deep.equal({ seated: ["b"], passed: ["huge"], hopeless: ["huge"] });
  });
});
