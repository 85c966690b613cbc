import type { QueryClient } from "@tanstack/react-query";

/** Reads again what is on the page of a game's slots. Resolves once it is there. */
export async function refreshSlots(client: QueryClient, gameSlug: string): Promise<void> {
  await Promise.all(
    ["game", "saves"].map((read) => client.invalidateQueries({ queryKey: [read, gameSlug] })),
  );
}
