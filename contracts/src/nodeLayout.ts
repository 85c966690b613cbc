/** Paths on a game node, under the configured root; the node agent writes them, the operator mounts them into session pods. */
export function objectDirectory(root: string, digest: string): string {
  return `${root}/v1/objects/${digest}`;
}

/** The read-only tree of one unpacked archive. */
export function contentDirectory(root: string, digest: string): string {
  return `${objectDirectory(root, digest)}/content`;
}

/** Everything the node keeps for one game session. */
export function sessionDirectory(root: string, gameSession: string): string {
  return `${root}/v1/sessions/${gameSession}`;
}

/** The directory that the game writes its saves to. */
export function saveDirectory(root: string, gameSession: string): string {
  return `${sessionDirectory(root, gameSession)}/save`;
}

/** User and group that session pods run as; the save directory belongs to them. */
export const sessionUserId = 10_001;

/** Where the pod sees the two directories. */
export const podPaths = { game: "/game", saves: "/saves", run: "/run/session" } as const;
