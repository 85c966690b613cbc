import { expect } from "chai";
import { crashPointsOf, Sweep, titleOf, type SweptWrites } from "./sweep.ts";
import type { Program, Store, WriteCount } from "./strike.ts";

/** Writes that come with time and not with a life: their number says nothing, and they are swept where a test of their own says so. */
const periodic: Readonly<Record<Program, ReadonlySet<string>>> = {
  // A process that starts anew sends a script whole, once, and the first one of all makes the lease.
  api: new Set(["POST leases", "PUT leases", "EVAL", "find-idle"]),
  operator: new Set(["POST leases", "PUT leases", "POST events", "PATCH events"]),
  nodeAgent: new Set(["POST events", "PATCH events"]),
};

/** Declares one test for each fault at each of these writes of one program, and one that there are no others. */
export function describeSweep(program: Program, title: string, writes: SweptWrites): void {
  describe(`${title}, with one fault at one of its writes,`, function () {
    // A life that does not heal is given up long before that.
    this.timeout(30 * 60_000);
    const points = crashPointsOf(program, writes);
    const sweep = new Sweep(points);

    after(() => sweep.stop());

    it("makes the writes that are swept, and no others, in a life without a fault", async () => {
      const clean = await sweep.clean;
      expect(unswept(clean.writes.filter((write) => write.program === program), writes), "writes that nobody sweeps").to.deep.equal([]);
    });

    for (const point of points) it(`${titleOf(point)}: comes to the same end`, () => sweep.outcomeOf(point));
  });
}

function unswept(found: readonly WriteCount[], writes: SweptWrites): string[] {
  return found.filter(({ program, store, what, effective }) => effective.length > 0 && !periodic[program].has(what) && !isSwept(writes, store, what)).map(({ store, what }) => `${store}: ${what}`);
}

function isSwept(writes: SweptWrites, store: Store, what: string): boolean {
  return writes[store]?.[what] !== undefined;
}
