import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { BenchPlayer } from "./fixture.ts";

/**
 * Signs players in from another process with the lowest priority, because real clients run on other machines.
 */
export class SignInClient {
  readonly #process: ChildProcess = fork(join(import.meta.dirname, "signInProgram.ts"), {
    execPath: "nice",
    execArgv: ["-n", "19", process.execPath],
  });

  /**
   * Signs all players in at the same time.
   *
   * @throws If one is rejected.
   */
  async signIn(port: number, players: readonly BenchPlayer[]): Promise<void> {
    this.#process.send({
      origin: `http://127.0.0.1:${port}`,
      users: players.map(({ user: { email, password } }) => ({ email, password })),
    });
    const [{ error }] = (await once(this.#process, "message", { signal: AbortSignal.timeout(60_000) })) as [
      { error?: string },
    ];
    if (error !== undefined) throw new Error(error);
  }

  close(): void {
    this.#process.kill();
  }
}
