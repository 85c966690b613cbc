import { useRef } from "react";
import type { GameListItem } from "#contracts/http/catalog.ts";

const maxTags = 14;

/**
 * Returns whether both are one tag. Partners, and addresses, write the same one in different cases; the
 * server treats them as one.
 */
export function isSameTag(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** Returns the tags of all games shown so far, most frequent first, and always the chosen one. */
export function useKnownTags(games: readonly GameListItem[], chosen: string): string[] {
  // By what is the same in all spellings of a tag; the first one seen is shown.
  const seen = useRef(new Map<string, { tag: string; games: Set<string> }>());
  for (const { id, tags } of games) {
    for (const tag of tags) {
      const known = seen.current.get(tag.toLowerCase()) ?? { tag, games: new Set() };
      known.games.add(id);
      seen.current.set(tag.toLowerCase(), known);
    }
  }
  const byFrequency = [...seen.current.values()].sort(
    (first, second) => second.games.size - first.games.size || first.tag.localeCompare(second.tag),
  );
  const tags = byFrequency.slice(0, maxTags).map(({ tag }) => tag);
  return chosen === "" || tags.some((tag) => isSameTag(tag, chosen)) ? tags : [chosen, ...tags];
}
