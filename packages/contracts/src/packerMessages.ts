/** The messages between the streamer and the packer, its child process. */

/** Streamer → packer: the game has ended, and its saves are final. */
export interface PackerCommand {
  t: "ended";
}

/**
 * Packer → streamer. `restored`: the launch no longer waits for the packer. `done`: the last pack, or the
 * reason why there is none, is in the spool.
 */
export interface PackerReport {
  t: "restored" | "done";
}
