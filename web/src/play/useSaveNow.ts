import { useEffect, useRef } from "react";
import { useMutation } from "@tanstack/react-query";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { ApiError, sentenceFor } from "../client/apiError.ts";
import { listSaves, requestSave } from "../client/saves.ts";
import type { SavesResponse } from "#contracts/http/saves.ts";

/**
 * What came of a wish to save: the version is there, it will show in the slot's history later, or the
 * session's own notice says why there is none.
 */
export type SaveOutcome = "saved" | "later" | "notKept";

const pauseMs = 1_500;

/** After this the player is not kept waiting for the word. */
const waitMs = 20_000;

interface RequestedSaveDeps {
  readSaves: () => Promise<SavesResponse>;
  requestSave: () => Promise<void>;
  /** What the session says of its saves by now; undefined while all is well. */
  saveNotice: () => string | undefined;
  pause: (ms: number) => Promise<void>;
  now: () => number;
}

/** For how long the outcome stays on the page. */
const outcomeMs = 5_000;
/** What is not kept the session's own notice tells. */
const outcomeTexts: Record<SaveOutcome, string | undefined> = {
  saved: "Saved",
  later: "It will appear in the slot's history.",
  notKept: undefined,
};

/** The wish to save while playing, and what has come of it. */
export interface SaveNow {
  save: () => void;
  isSaving: boolean;
  /** What to tell the player; undefined when there is nothing (any more). */
  notice: { text: string; isProblem: boolean } | undefined;
}

/**
 * Saves what is played when the player asks for it. Without the game's slug nobody can see when the save is
 * stored.
 */
export function useSaveNow(
  { sessionId, saveNotice }: Pick<GameSessionStatusResponse, "sessionId" | "saveNotice">,
  slug: string | undefined,
): SaveNow {
  const presentNotice = useRef(saveNotice);
  useEffect(() => {
    presentNotice.current = saveNotice;
  }, [saveNotice]);
  const controller = useRef<AbortController>(null);
  useEffect(() => () => controller.current?.abort(), []);
  const { mutate, reset, isPending, data, error } = useMutation({
    mutationFn: async () => {
      const { signal } = (controller.current = new AbortController());
      return saveAndWait({
        readSaves: () =>
          slug === undefined
            ? Promise.reject(new ApiError("not_found", "The game is not known."))
            : listSaves(slug, signal),
        requestSave: () => requestSave(sessionId),
        saveNotice: () => presentNotice.current,
        pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
        now: () => (signal.aborted ? Infinity : Date.now()),
      });
    },
  });
  const isOver = data !== undefined || error !== null;
  useEffect(() => {
    if (!isOver) return;
    const timer = setTimeout(reset, outcomeMs);
    return () => clearTimeout(timer);
  }, [isOver, reset]);
  return { save: mutate, isSaving: isPending, notice: noticeOf(isPending, data, error) };
}

function noticeOf(
  isSaving: boolean,
  outcome: SaveOutcome | undefined,
  error: Error | null,
): SaveNow["notice"] {
  if (isSaving) return { text: "Saving…", isProblem: false };
  if (error !== null) return { text: sentenceFor(error), isProblem: true };
  const text = outcome === undefined ? undefined : outcomeTexts[outcome];
  return text === undefined ? undefined : { text, isProblem: false };
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
