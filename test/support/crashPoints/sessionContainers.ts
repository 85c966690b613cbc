import { chownSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { sessionDirectory, sessionUserId, spoolNames } from "#contracts/nodeLayout.ts";
import { startPackerLife, type PackerRun } from "../fixtures/packerFixture.ts";

/**
 * What a kubelet would run of sessions' pods: their packers, really. There is no game; tests write into its
 * save directory.
 */
export class SessionContainers {
  readonly #root: string;
  readonly #uidOf: (session: string) => Promise<string | undefined>;
  readonly #packers = new Map<string, PackerRun>();

  /** `root` is the node agent's; `uidOf` returns the uid of a session's object. */
  constructor(root: string, uidOf: (session: string) => Promise<string | undefined>) {
    this.#root = root;
    this.#uidOf = uidOf;
  }

  /** The save directory of a session, as its game sees it. */
  saves(session: string): string {
    return join(this.#volume(session), "save");
  }

  /**
   * As a kubelet does, waits for the session's folder, and then for the save directory that the packer makes:
   * throws as long as they are not there.
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

  /** The game is over: resolves after the last pack. */
  async end(session: string): Promise<void> {
    const packer = this.#packers.get(session);
    if (packer === undefined || packer.process.exitCode !== null || packer.process.signalCode !== null)
      return;
    await packer.finish();
  }

  /** What the packers have logged. */
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
