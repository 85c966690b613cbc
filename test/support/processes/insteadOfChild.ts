/**
 * The environment with which a forked child of Node runs this text in the place of its own program, for good
 * unless it ends itself.
 */
export function insteadOfChild(program: string): { NODE_OPTIONS: string } {
  const forGood = "await new Promise(() => setInterval(() => undefined, 1_000));";
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`${program}; ${forGood}`)}` };
}
