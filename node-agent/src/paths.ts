import { objectDirectory, sessionDirectory } from "#contracts/nodeLayout.ts";

/** Where the agent keeps things, besides what the shared layout names. */
export interface NodePaths {
  root: string;
  /** Work in progress: emptied at each start. */
  temporary: string;
  objects: string;
  sessions: string;
  /** Session directories set aside for an admin. */
  keptSessions: string;
  object(digest: string): string;
  session(gameSession: string): string;
}

/** The agent's folders below its root. */
export function nodePaths(root: string): NodePaths {
  return {
    root,
    temporary: `${root}/v1/tmp`,
    objects: `${root}/v1/objects`,
    sessions: `${root}/v1/sessions`,
    keptSessions: `${root}/v1/sessions-kept`,
    object: (digest) => objectDirectory(root, digest),
    session: (gameSession) => sessionDirectory(root, gameSession),
  };
}
