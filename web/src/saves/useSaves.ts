import { useMutation, useQuery, type UseMutationResult, type UseQueryResult } from "@tanstack/react-query";
import type { SavesResponse } from "#contracts/http/saves.ts";
import { listSaves } from "../client/saves.ts";
import { refreshSlots } from "../launch/useLaunch.ts";

/** Pause between reads while a slot is in use: its state ends without an action of the player. */
const inUsePauseMs = 5_000;
/** Pause between reads otherwise: another tab or device may have changed the saves. */
const idlePauseMs = 30_000;

/** Returns the player's saves of a game, which are read again regularly. */
export function useSaves(slug: string): UseQueryResult<SavesResponse> {
  return useQuery({
    queryKey: ["saves", slug],
    queryFn: ({ signal }) => listSaves(slug, signal),
    refetchInterval: ({ state: { data } }) => savesPauseMs(data),
    refetchOnWindowFocus: true,
  });
}

/** Returns the pause in milliseconds before the saves are read again: shorter while a slot is in use. */
export function savesPauseMs(saves: SavesResponse | undefined): number {
  const isInUse = saves?.slots.some(({ state }) => state === "playing" || state === "storing") === true;
  return isInUse ? inUsePauseMs : idlePauseMs;
}

/**
 * A change of the player's saves, and the sentence that announces its success, if needed from the response.
 */
export interface SavesChange<Result> {
  work: () => Promise<Result>;
  done: string | ((result: Result) => string);
}

/** Returns a mutation that changes the saves of a game, refreshes the page, and announces the success. */
export function useSavesChange<Result = unknown>(
  slug: string,
  announce: (text: string) => void,
): UseMutationResult<Result, Error, SavesChange<Result>> {
  return useMutation({
    mutationFn: ({ work }: SavesChange<Result>) => {
      announce(""); // Clears the former announcement, so that the same one is read out again.
      return work();
    },
    onSuccess: (result, { done }) => announce(typeof done === "string" ? done : done(result)),
    onSettled: (_result, _error, _change, _before, { client }) => refreshSlots(client, slug),
  });
}
