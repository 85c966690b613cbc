/** Paths on a game node, under the configured root; the node agent writes them, the operator mounts them into session pods. */
export function objectDirectory(root: string, digest: string): string {
  return `${root}/v1/objects/${digest}`;
}

/** The read-only tree of one unpacked archive. */
export function contentDirectory(root: string, digest: string): string {
  return `${objectDirectory(root, digest)}/content`;
}

/** Everything the node keeps for one game session; the session's pod mounts it. */
export function sessionDirectory(root: string, gameSession: string): string {
  return `${root}/v1/sessions/${gameSession}`;
}

const saveName = "save";

/** The directory that the game writes its saves to. It appears, complete, when the game may start. */
export function saveDirectory(root: string, gameSession: string): string {
  return `${sessionDirectory(root, gameSession)}/${saveName}`;
}

/** User and group that session pods run as; the save directory belongs to them. */
export const sessionUserId = 10_001;

/** Where the pod sees the game, the session's directory and the saves in it, and what its containers share. */
export const podPaths = { game: "/game", session: "/session", saves: `/session/${saveName}`, run: "/run/session" } as const;
