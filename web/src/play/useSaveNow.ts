import { useEffect, useRef } from "react";
import { useMutation } from "@tanstack/react-query";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { ApiError, sentenceFor } from "../client/apiError.ts";
import { listSaves, requestSave } from "../client/saves.ts";
import { saveAndWait, type SaveOutcome } from "./requestedSave.ts";

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
