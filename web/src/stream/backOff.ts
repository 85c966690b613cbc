const firstDelayMs = 500;
const maxDelayMs = 8_000;

/**
 * Returns the pause before attempt number `attempt` (from 0): a random part, at least half, of a time that
 * doubles up to 8 s.
 */
export function backOffMs(attempt: number, random: () => number = Math.random): number {
  const ceiling = Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(attempt, 10));
  return Math.round(ceiling * (0.5 + random() / 2));
}
