import { useEffect, useRef } from "react";
import { useMutation } from "@tanstack/react-query";
import { ApiError, sentenceFor } from "../client/apiError.ts";
import { listSaves, requestSave } from "../client/saves.ts";
import { saveAndWait, type SaveOutcome } from "./requestedSave.ts";

/** For how long the outcome stays on the page. */
const outcomeMs = 5_000;
const outcomeTexts: Record<SaveOutcome, string> = { saved: "Saved", later: "It will appear in the slot's history." };

/** The wish to save while playing, and what has come of it. */
export interface SaveNow {
  save: () => void;
  isSaving: boolean;
  /** What to tell the player; undefined when there is nothing (any more). */
  notice: { text: string; isProblem: boolean } | undefined;
}

/** Saves what is played when the player asks for it. Without the game's slug nobody can see when the save is stored. */
export function useSaveNow(sessionId: string, slug: string | undefined): SaveNow {
  const controller = useRef<AbortController>(null);
  useEffect(() => () => controller.current?.abort(), []);
  const { mutate, reset, isPending, data, error } = useMutation({
    mutationFn: async () => {
      const { signal } = controller.current = new AbortController();
      return saveAndWait({
        readSaves: () => (slug === undefined ? Promise.reject(new ApiError("not_found", "The game is not known.")) : listSaves(slug, signal)),
        requestSave: () => requestSave(sessionId),
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

function noticeOf(isSaving: boolean, outcome: SaveOutcome | undefined, error: Error | null): SaveNow["notice"] {
  if (isSaving) return { text: "Saving…", isProblem: false };
  if (error !== null) return { text: sentenceFor(error), isProblem: true };
  return outcome === undefined ? undefined : { text: outcomeTexts[outcome], isProblem: false };
}
