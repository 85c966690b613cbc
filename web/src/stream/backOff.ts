const firstDelayMs = 500;
const maxDelayMs = 8_000;

/** Pause before try number `attempt` (from 0): doubling to 8 s, between half and all of it at random. */
export function backOffMs(attempt: number, random: () => number = Math.random): number {
  const ceiling = Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(attempt, 10));
  return Math.round(ceiling * (0.5 + random() / 2));
}
