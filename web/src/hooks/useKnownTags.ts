import { useRef } from "react";
import type { GameListItem } from "#contracts/http/catalog.ts";

const maxTags = 14;

/** The tags seen so far on this page, most frequent first; with the chosen one, however rare it is. */
export function useKnownTags(games: readonly GameListItem[], chosen: string): string[] {
  const seen = useRef(new Map<string, ReadonlySet<string>>());
  for (const { id, tags } of games) {
    for (const tag of tags) seen.current.set(tag, new Set(seen.current.get(tag)).add(id));
  }
  const byFrequency = [...seen.current].sort(([first, gamesOfFirst], [second, gamesOfSecond]) =>
    gamesOfSecond.size - gamesOfFirst.size || first.localeCompare(second));
  const tags = byFrequency.slice(0, maxTags).map(([tag]) => tag);
  return chosen === "" || tags.includes(chosen) ? tags : [chosen, ...tags];
}
