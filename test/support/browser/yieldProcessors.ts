import { readdirSync, readFileSync } from "node:fs";
import { constants, setPriority } from "node:os";

/**
 * Lets everything else on the machine go before the browser. A player's browser does not run on a game node; here it does, outside of what shares
 * the node's processors by weight, and each of its threads would weigh as much as all nodes together. Where the kernel groups processes by their
 * session (`kernel.sched_autogroup_enabled`) the browser as a whole weighs as much as all nodes, whatever is set here: with less, its own picture was
 * what stood still.
 */
export function yieldProcessors(): void {
  for (const pid of descendantsOf(process.pid)) {
    if (!readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("chrom")) continue;
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), constants.priority.PRIORITY_LOW);
  }
}

function descendantsOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter((text) => text !== "").map(Number);
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}
