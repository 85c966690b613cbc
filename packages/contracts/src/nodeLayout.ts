/**
 * Returns the folder of one unpacked archive on a game node. The node agent writes it; the operator mounts
 * its content into session pods.
 */
export function objectDirectory(root: string, digest: string): string {
  return `${root}/v1/objects/${digest}`;
}

/** Returns the read-only tree of one unpacked archive. */
export function contentDirectory(root: string, digest: string): string {
  return `${objectDirectory(root, digest)}/content`;
}

/**
 * Returns the folder with everything that the node keeps for one game session. The pod's streamer mounts it,
 * the game does not.
 */
export function sessionDirectory(root: string, gameSession: string): string {
  return `${root}/v1/sessions/${gameSession}`;
}

/** User and group that session pods run as. */
export const sessionUserId = 10_001;

/**
 * What node agent and packer leave each other in the session's folder (see spool.ts). The folder and the two
 * files of the order are the agent's alone to write, as is a request; the packer writes below `packed/`.
 */
export const spoolNames = {
  /** Says what is to be restored; appears complete, after the archive that it names. */
  order: "restore.json",
  /** The slot's save, verified. */
  orderedArchive: "restore.tar.gz",
  /** Asks for a save of the present state. */
  request: "save.json",
  /** The packer's own folder, which belongs to the session's user. */
  packed: "packed",
  /** What became of the order. */
  report: "packed/restored.json",
  /** The newest pack. */
  manifest: "packed/manifest.json",
} as const;

/** Read at most so many bytes of order, report or manifest. */
export const spoolFileBytes = 16 * 1024;

/** Returns the file name of one pack in the packer's folder. */
export function packedArchiveName({ attempt, sequence }: { attempt: number; sequence: number }): string {
  return `save-${sequence}-${attempt}.tar.gz`;
}

/** Names of the pod's volumes that other programs refer to. */
export const podVolumes = { saves: "saves", spool: "spool" } as const;

/** Names of the pod's two containers. */
export const containerNames = { game: "game", streamer: "streamer" } as const;
export type ContainerName = (typeof containerNames)[keyof typeof containerNames];

/** Names of the streamer's sockets for the game, in the directory of RUN_DIR. */
export const socketNames = { sound: "pulse.sock", gamepad: "pad0" } as const;
/**
 * Name of the streamer's file beside them: variables for the game, `NAME=value` a line, which depend on what
 * the display was found to do.
 */
export const gameEnvironmentFile = "game.env";

const saveName = "save";

/**
 * Where the pod sees things. `game`: the game's files. `session`: the save volume, in memory, with the saves
 * in `saves`. `run`: sockets of the streamer, which the game may only connect to. `gameReport`: what the
 * game's container says of itself, which the streamer may only read. `spool`: the session's folder on the
 * node, for the streamer alone.
 */
export const podPaths = {
  game: "/game",
  session: "/session",
  saves: `/session/${saveName}`,
  run: "/run/session",
  gameReport: "/run/game",
  spool: "/spool",
} as const;
