import { useEffect, useRef } from "react";
import { useMutation } from "@tanstack/react-query";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import type { SavesResponse } from "#contracts/http/saves.ts";
import { ApiError, describeError } from "../client/apiError.ts";
import { listSaves, requestSave } from "../client/saves.ts";
import { t } from "../i18n.ts";

/**
 * The outcome of a requested save: the version is stored, it will appear in the slot's history later, or the
 * notice of the session says why there is none.
 */
export type SaveOutcome = "saved" | "later" | "notKept";

const pauseMs = 1_500;

/** The player waits for the outcome for at most this long. */
const waitMs = 20_000;

interface RequestedSaveDeps {
  readSaves: () => Promise<SavesResponse>;
  requestSave: () => Promise<void>;
  /** Returns the current notice of the session about its saves; undefined if there is no problem. */
  saveNotice: () => string | undefined;
  pause: (ms: number) => Promise<void>;
  now: () => number;
}

/** The outcome stays on the page for this long. */
const outcomeMs = 5_000;

/** Saving while playing, and its outcome. */
export interface SaveNow {
  save: () => void;
  isSaving: boolean;
  /** Message for the player, if any. */
  notice: { text: string; isProblem: boolean } | undefined;
}

/** Saves the running game on request. Without the game's slug the page cannot see when the save is stored. */
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
  if (isSaving) return { text: t("common:saving"), isProblem: false };
  if (error !== null) return { text: describeError(error), isProblem: true };
  // The notice of the session explains a save that was not kept.
  if (outcome === undefined || outcome === "notKept") return undefined;
  return { text: t(`play:saveNow.${outcome}`), isProblem: false };
}

/**
 * Requests a save and waits until a new requested version appears, or the session reports that there will be
 * none. Throws errors of the request; a failed read of the saves is repeated.
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
    if (notice !== undefined && notice !== earlier) return "notKept"; // An earlier notice may be about to disappear.
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
    return undefined; // The save may succeed anyway.
  }
}
