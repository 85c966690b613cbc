import { objectDirectory, sessionDirectory, spoolNames } from "#contracts/nodeLayout.ts";

/** Paths of the agent's files, in addition to the shared layout. */
export interface NodePaths {
  root: string;
  /** Locked by the one agent that serves the folder. */
  lock: string;
  /** Downloads in progress, and session folders being created. Emptied at each start. */
  temporary: string;
  /** Files being removed. Emptied in the background. */
  trash: string;
  objects: string;
  sessions: string;
  /** Session folders set aside for an admin. */
  keptSessions: string;
  object(digest: string): string;
  session(gameSession: string): string;
  /** The packer's folder of a session. */
  packed(gameSession: string): string;
}

/** Returns the agent's folders below its root. */
export function nodePaths(root: string): NodePaths {
  return {
    root,
    lock: `${root}/v1/lock`,
    temporary: `${root}/v1/tmp`,
    trash: `${root}/v1/trash`,
    objects: `${root}/v1/objects`,
    sessions: `${root}/v1/sessions`,
    keptSessions: `${root}/v1/sessions-kept`,
    object: (digest) => objectDirectory(root, digest),
    session: (gameSession) => sessionDirectory(root, gameSession),
    packed: (gameSession) => `${sessionDirectory(root, gameSession)}/${spoolNames.packed}`,
  };
}
