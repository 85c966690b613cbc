import type { SavesResponse } from "#contracts/http/saves.ts";

/**
 * What came of a wish to save: the version is there, it will show in the slot's history later, or the
 * session's own notice says why there is none.
 */
export type SaveOutcome = "saved" | "later" | "notKept";

const pauseMs = 1_500;
/** After this the player is not kept waiting for the word. */
const waitMs = 20_000;

export interface RequestedSaveDeps {
  readSaves: () => Promise<SavesResponse>;
  requestSave: () => Promise<void>;
  /** What the session says of its saves by now; undefined while all is well. */
  saveNotice: () => string | undefined;
  pause: (ms: number) => Promise<void>;
  now: () => number;
}

/**
 * Asks for a save and waits until a version of that kind is there that was not before, or the session says
 * that there will be none. Throws what asking throws; a failed look only means to look again.
 */
export async function saveAndWait({
  readSaves,
  requestSave,
  saveNotice,
  pause,
  now,
}: RequestedSaveDeps): Promise<SaveOutcome> {
  const known = await requestedIds(readSaves);
  const deadline = now() + waitMs;
  let earlier = saveNotice();
  await requestSave();
  while (known !== undefined && now() < deadline) {
    await pause(pauseMs);
    const present = await requestedIds(readSaves);
    if (present?.some((id) => !known.includes(id)) === true) return "saved";
    const notice = saveNotice();
    if (notice !== undefined && notice !== earlier) return "notKept"; // One from before the wish may be about to go.
    earlier = notice;
  }
  return saveNotice() === undefined ? "later" : "notKept";
}

async function requestedIds(readSaves: RequestedSaveDeps["readSaves"]): Promise<string[] | undefined> {
  try {
    const { slots } = await readSaves();
    return slots.flatMap(({ versions }) =>
      versions.filter(({ kind }) => kind === "requested").map(({ id }) => id),
    );
  } catch {
    return undefined; // The save itself may get through all the same.
  }
}
