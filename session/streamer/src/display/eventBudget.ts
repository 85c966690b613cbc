/**
 * Events a second that are handled on a display full of hostile windows; an ordinary game never comes near.
 */
const eventsPerSecond = 500;
const burst = 1_000;

/**
 * Returns a function that tells for each event whether it is still handled: each costs several requests, and
 * a game can cause them without end.
 */
export function createEventBudget(now: () => number): () => boolean {
  let tokens = burst;
  let countedAt = now();
  return () => {
    const at = now();
    tokens = Math.min(burst, tokens + ((at - countedAt) / 1_000) * eventsPerSecond);
    countedAt = at;
    if (tokens < 1) return false;
    tokens--;
    return true;
  };
}
