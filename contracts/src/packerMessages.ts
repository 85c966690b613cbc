/** How streamer and packer, its child, talk: by messages of the channel between them. */

/** Streamer → packer: the game is over, what its saves are now is the last of them. */
export interface PackerCommand {
  t: "ended";
}

/** Packer → streamer. `restored`: nobody waits for it any more. `done`: the last pack lies in the spool, or the reason why there is none. */
export interface PackerReport {
  t: "restored" | "done";
}
