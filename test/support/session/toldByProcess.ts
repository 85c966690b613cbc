import { fork } from "node:child_process";
import { once } from "node:events";

/**
 * Runs a program that tells one thing and ends when it is disconnected; returns what it tells. Throws when it
 * ends before.
 */
export async function toldByProcess<Told extends object>(program: URL, ...args: string[]): Promise<Told> {
  const process = fork(program, args);
  const exited = once(process, "exit");
  try {
    const [told] = (await Promise.race([
      once(process, "message"),
      exited.then(([code]) => {
        throw new Error(`The process ended with ${String(code)} and told nothing.`);
      }),
    ])) as [Told];
    return told;
  } finally {
    if (process.connected) process.disconnect();
    await exited;
  }
}
