import type { Published } from "../publish.ts";
import { countText } from "./text.ts";

/** Returns what was published, and what the person can do next. */
export function publishedText({ slug, upload, distribution }: Published, address: URL): string {
  const { versionId, isCurrent } = upload;
  const lines = [`Published ${slug}, version ${versionId}.`];
  if (distribution !== undefined) lines.push(distributionText(distribution));
  lines.push(
    isCurrent
      ? `Players get it: ${new URL(`/games/${slug}`, address).href}`
      : `Players do not get it yet: joypod-publish activate ${versionId} --game ${slug}`,
  );
  return lines.join("\n");
}

function distributionText({ servers, cached, pending }: NonNullable<Published["distribution"]>): string {
  if (servers === 0) return "The site has no game server at the moment.";
  if (pending.length === 0)
    return `${countText(servers, "game server")} ${servers === 1 ? "holds" : "hold"} it.`;
  return `${cached} of ${countText(servers, "game server")} hold it. Others fetch it when a player needs it.`;
}
