/**
 * Returns the directory of an unpacked archive on a game node. The node agent writes it, and the operator
 * mounts its content into session pods.
 */
export function objectDirectory(root: string, digest: string): string {
  return `${root}/v1/objects/${digest}`;
}

/** Returns the read-only directory with the files of an unpacked archive. */
export function contentDirectory(root: string, digest: string): string {
  return `${objectDirectory(root, digest)}/content`;
}

/**
 * Returns the directory with everything that the node stores for a game session. It is mounted into the pod's
 * streamer, not into the game.
 */
export function sessionDirectory(root: string, gameSession: string): string {
  return `${root}/v1/sessions/${gameSession}`;
}

/** User and group that session pods run as. */
export const sessionUserId = 10_001;

/**
 * Files that the node agent and the packer exchange in the session's directory (see spool.ts). Only the agent
 * can write the directory, the two files of the order, and requests. The packer writes below `packed/`.
 */
export const spoolNames = {
  /** The restore order. It appears after the archive that it names, and is complete when it appears. */
  order: "restore.json",
  /** The slot's verified save. */
  orderedArchive: "restore.tar.gz",
  /** Requests a save of the current state. */
  request: "save.json",
  /** The packer's directory, owned by the session's user. */
  packed: "packed",
  /** The result of the order. */
  report: "packed/restored.json",
  /** The latest pack. */
  manifest: "packed/manifest.json",
  /** The end of the game's output, written when the game has ended. */
  output: "packed/output.log",
  /** What a session that verifies a version has observed, written when the game has ended. */
  observations: "packed/observations.json",
} as const;

/** Maximum number of bytes to read from an order, report or manifest. */
export const spoolFileBytes = 16 * 1024;

/**
 * Name of the file with the end of the game's output, next to the game's termination report. It is also only
 * a claim, and may contain anything: show it with `printableText`.
 */
export const gameOutputFile = "output.log";
/** Maximum size of that file. The supervisor has the same number. */
export const gameOutputBytes = 64 * 1024;

/**
 * Name of the file in the same directory to which the shim appends what the game was refused, in sessions
 * that verify a version.
 */
export const gameObservationsFile = "observations.log";
/** Maximum size of that file. The shim has the same number. */
export const gameObservationsBytes = 64 * 1024;
/** Maximum size of the observations of a session (observations.ts), with three pictures. */
export const sessionObservationsBytes = 512 * 1024;

/** Returns the file name of a pack in the packer's directory. */
export function packedArchiveName({ attempt, sequence }: { attempt: number; sequence: number }): string {
  return `save-${sequence}-${attempt}.tar.gz`;
}

/** Returns the file name of the picture of a pack, which may be missing. */
export function packedPictureName({ attempt, sequence }: { attempt: number; sequence: number }): string {
  return `save-${sequence}-${attempt}.jpg`;
}

/** Names of the pod's volumes that other programs refer to. */
export const podVolumes = { saves: "saves", spool: "spool" } as const;

/** Names of the pod's two containers. */
export const containerNames = { game: "game", streamer: "streamer" } as const;
export type ContainerName = (typeof containerNames)[keyof typeof containerNames];

/** Names of the streamer's sockets for the game's container, in the directory of RUN_DIR. */
export const socketNames = { sound: "pulse.sock", gamepads: "pads", close: "close.sock" } as const;
/**
 * Name of the streamer's file in the same directory: environment variables for the game, one `NAME=value` per
 * line, which depend on the display.
 */
export const gameEnvironmentFile = "game.env";

const saveName = "save";

/**
 * Paths inside the pod. `game`: the game's files. `session`: the save volume, in memory, with the saves in
 * `saves`. `run`: sockets of the streamer; the game can only connect to them. `gameReport`: the game
 * container's reports, read-only for the streamer. `spool`: the session's directory on the node, only in the
 * streamer.
 */
export const podPaths = {
  game: "/game",
  session: "/session",
  saves: `/session/${saveName}`,
  run: "/run/session",
  gameReport: "/run/game",
  spool: "/spool",
} as const;

/**
 * Variables of a game whose pictures no driver paces. They select the OpenGL vendor "joypod" of the game
 * image (session/vsync), which waits for the display's refresh, and the Vulkan layer that does the same.
 */
export const pacedDrawing = {
  __GLX_VENDOR_LIBRARY_NAME: "joypod",
  __EGL_VENDOR_LIBRARY_FILENAMES: "/usr/local/lib/joypod/egl.json:/usr/share/glvnd/egl_vendor.d/50_mesa.json",
};
