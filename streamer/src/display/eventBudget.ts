/** Events a second that a display full of hostile windows gets answers to; a player's never come near. */
const eventsPerSecond = 500;
const burst = 1_000;

/** Says for each event whether it is still answered: each costs several requests, and a game can cause them without end. */
export function createEventBudget(now: () => number): () => boolean {
  let left = burst;
  let countedAt = now();
  return () => {
    const at = now();
    left = Math.min(burst, left + (at - countedAt) / 1_000 * eventsPerSecond);
    countedAt = at;
    if (left < 1) return false;
    left--;
    return true;
  };
}
