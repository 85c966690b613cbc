import { expect } from "chai";
import { boundsOf, crashPointsOf, Sweep, titleOf, type SweptWrites } from "./sweep.ts";
import type { Program, Store, WriteCount } from "./strike.ts";

/** Periodic writes, which are swept only if a program's table lists them. */
const periodic: Readonly<Record<Program, ReadonlySet<string>>> = {
  // A new process sends each script completely once, and the first one creates the lease.
  api: new Set(["POST leases", "PUT leases", "EVAL", "find-idle"]),
  operator: new Set(["POST leases", "PUT leases", "POST events", "PATCH events"]),
  nodeAgent: new Set(["PATCH leases", "POST events", "PATCH events"]),
};

/**
 * Declares one test for each fault at each of these writes of a program, and one that checks that there are
 * exactly these writes.
 */
export function describeSweep(program: Program, title: string, writes: SweptWrites): void {
  describe(`${title}, with one fault at one of its writes,`, function () {
    // A life that does not recover is aborted long before this.
    this.timeout(30 * 60_000);
    const points = crashPointsOf(program, writes);
    const sweep = new Sweep(points);

    after(() => sweep.stop());

    it("makes the writes that are swept, so many of each, and no others, in a life without a fault", async () => {
      const clean = await sweep.clean;
      const found = clean.writes.filter((write) => write.program === program);
      expect(
        [...unswept(found, writes), ...miscounted(found, writes)],
        "what the table does not say",
      ).to.deep.equal([]);
    });

    for (const point of points) it(`${titleOf(point)}: comes to the same end`, () => sweep.outcomeOf(point));
  });
}

function unswept(found: readonly WriteCount[], writes: SweptWrites): string[] {
  return found
    .filter(
      ({ program, store, what, effective }) =>
        effective.length > 0 && !periodic[program].has(what) && writes[store]?.[what] === undefined,
    )
    .map(({ store, what, effective }) => `${store}: ${what}, ${effective.length} times`);
}

function miscounted(found: readonly WriteCount[], writes: SweptWrites): string[] {
  return (Object.entries(writes) as [Store, NonNullable<SweptWrites[Store]>][]).flatMap(([store, kinds]) =>
    Object.entries(kinds).flatMap(([what, count]) => {
      const { least, most } = boundsOf(count);
      const times =
        found.find((write) => write.store === store && write.what === what)?.effective.length ?? 0;
      return times >= least && times <= most
        ? []
        : [`${store}: ${what}, ${times} times, not ${least === most ? least : `${least} to ${most}`}`];
    }),
  );
}
