/** The document's chapters, by the beginnings of their paths; the first that fits counts. */
export const tags = [
  {
    name: "Sign-in",
    prefix: "/api/auth/",
    description:
      "Who is signed in, and how to become so. Works with the unmodified React client of Auth.js (`next-auth` 4). Forms carry the token of `GET /api/auth/csrf`.",
  },
  {
    name: "Account",
    prefix: "/api/account/",
    description: "How the player signs in, and where they are signed in.",
  },
  { name: "Catalogue", prefix: "/api/games", description: "Games that the player can launch." },
  { name: "Favourites", prefix: "/api/favorites", description: "Games that the player marked." },
  {
    name: "Game sessions",
    prefix: "/api/game/",
    description: "Launching, watching, keeping alive and stopping the player's own sessions; one at a time.",
  },
  {
    name: "Stream",
    prefix: "/api/stream/",
    description: "WebRTC signalling (WHEP) for a session, starting or running.",
  },
  {
    name: "Partners",
    prefix: "/api/partners/",
    description: "A partner's own games, their archives, and how far these have come.",
  },
  { name: "Service", prefix: "/", description: "For those who run the service." },
] as const;

/** The chapter of a path. */
export function tagOf(path: string): string {
  return tags.find(({ prefix }) => path.startsWith(prefix))?.name ?? "Service";
}
