/** A game node that could take a session. */
export interface Candidate {
  nodeName: string;
  slots: number;
  /** Sessions placed there and not finished. */
  used: number;
  /** Whether the node holds the version that is to be played. */
  content: "Ready" | "Downloading" | "Absent" | "Failed";
}

const contentOrder = { Ready: 0, Downloading: 1, Absent: 2, Failed: 3 } as const;

/** Returns the best node: one that holds the game first, then the least loaded, then by name; undefined when none has a free slot. */
export function chooseNode<C extends Candidate>(candidates: readonly C[]): C | undefined {
  return candidates.filter(({ used, slots }) => used < slots).sort(byPreference)[0];
}

function byPreference(a: Candidate, b: Candidate): number {
  return contentOrder[a.content] - contentOrder[b.content]
    || a.used / a.slots - b.used / b.slots
    || a.used - b.used
    || (a.nodeName < b.nodeName ? -1 : 1);
}

/** Returns the lowest free port of the range; undefined when all are taken. */
export function choosePort({ first, last }: { first: number; last: number }, taken: ReadonlySet<number>): number | undefined {
  for (let port = first; port <= last; port++) if (!taken.has(port)) return port;
  return undefined;
}
