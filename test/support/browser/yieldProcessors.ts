import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { constants, setPriority } from "node:os";

/** Where Linux weighs sessions of processes against each other, of which a browser is one: half of what all nodes of a cluster weigh together. */
const sessionNiceness = 3;

/**
 * Lets the nodes of a cluster go before the browser. A player's browser does not run on a game node; here it does, outside of what shares the nodes'
 * processors by weight. Where sessions of processes weigh nothing by themselves, each of its threads would weigh as much as all nodes together.
 */
export function yieldProcessors(): void {
  for (const pid of descendantsOf(process.pid)) {
    if (!readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("chrom")) continue;
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), constants.priority.PRIORITY_LOW);
    const session = `/proc/${pid}/autogroup`;
    // The kernel takes few changes a second of a session, whose processes all have the same.
    if (existsSync(session) && !readFileSync(session, "utf8").includes(` nice ${sessionNiceness}`)) writeFileSync(session, String(sessionNiceness));
  }
}

function descendantsOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter((text) => text !== "").map(Number);
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}
