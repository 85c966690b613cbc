/**
 * Returns an environment in which a forked child of Node runs this text instead of its program, and stays
 * alive unless it exits.
 */
export function insteadOfChild(program: string): { NODE_OPTIONS: string } {
  const forGood = "await new Promise(() => setInterval(() => undefined, 1_000));";
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`${program}; ${forGood}`)}` };
}
