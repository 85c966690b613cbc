import { chownSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { sessionDirectory, sessionUserId, spoolNames } from "#contracts/nodeLayout.ts";
import { startPackerLife, type PackerRun } from "../fixtures/packerFixture.ts";

/**
 * Runs the real packers of session pods like a kubelet. There is no game; tests write into its save
 * directory.
 */
export class SessionContainers {
  readonly #root: string;
  readonly #uidOf: (session: string) => Promise<string | undefined>;
  readonly #packers = new Map<string, PackerRun>();

  /** `root` is the node agent's folder. `uidOf` returns the uid of a session's object. */
  constructor(root: string, uidOf: (session: string) => Promise<string | undefined>) {
    this.#root = root;
    this.#uidOf = uidOf;
  }

  /** Returns the save directory of a session, as its game sees it. */
  saves(session: string): string {
    return join(this.#volume(session), "save");
  }

  /**
   * Starts the packer like a kubelet: needs the session's folder, and then the save directory that the packer
   * creates.
   *
   * @throws While they do not exist.
   */
  async start(session: string): Promise<void> {
    const uid = await this.#uidOf(session);
    if (uid === undefined) return;
    const folder = sessionDirectory(this.#root, session);
    if (!existsSync(join(folder, spoolNames.packed)))
      throw new Error("The pod waits for the session's folder.");
    if (!this.#packers.has(session)) {
      mkdirSync(this.#volume(session), { recursive: true });
      chownSync(this.#volume(session), sessionUserId, sessionUserId);
      this.#packers.set(
        session,
        startPackerLife({
          SAVE_VOLUME: this.#volume(session),
          SPOOL_DIR: folder,
          SESSION_UID: uid,
          SPOOL_SECONDS: "1",
        }),
      );
    }
    if (!existsSync(this.saves(session))) throw new Error("The game waits for its saves.");
  }

  /** Ends the game. Resolves after the last pack. */
  async end(session: string): Promise<void> {
    const packer = this.#packers.get(session);
    if (packer === undefined || packer.process.exitCode !== null || packer.process.signalCode !== null)
      return;
    await packer.finish();
  }

  /** Returns the packers' logs. */
  log(): string {
    return [...this.#packers.values()].flatMap((packer) => packer.log()).join("\n");
  }

  kill(): void {
    for (const { process: packer } of this.#packers.values()) packer.kill("SIGKILL");
  }

  #volume(session: string): string {
    return join(this.#root, "..", `volume-${session}`);
  }
}
