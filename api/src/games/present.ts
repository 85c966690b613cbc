import type { Game } from "../generated/client.ts";
import type {
  PartnerGameDetail,
  PartnerGameListItem,
  PartnerGamesResponse,
  RegisterGameResponse,
} from "#contracts/http/partners.ts";
import type { UploadResponse } from "#contracts/http/gameVersions.ts";
import type { UploadedArchive } from "./uploadArchive.ts";
import type { ClusterView } from "../cluster/clusterView.ts";
import { presentSync } from "./presentSync.ts";
import { presentResources } from "./siteResources.ts";
import type { InsertedGame, ListedGame, PartnerGame } from "./partnerGameQueries.ts";

/** Returns a game that was just registered. */
export function presentRegisteredGame({ id, slug }: InsertedGame): RegisterGameResponse {
  return { id, slug, status: "pending_upload" };
}

/** Returns a partner's list of games. */
export function presentPartnerGames(games: readonly ListedGame[]): PartnerGamesResponse {
  return { games: games.map(presentListItem), total: games.length };
}

/** Returns a game as its partner sees it, with the number of nodes that have its archive. */
export function presentPartnerGame(
  game: PartnerGame,
  { cluster, config }: { cluster: ClusterView; config: { baseUrl: string } },
): PartnerGameDetail {
  const {
    id,
    slug,
    title,
    developer,
    description,
    tags,
    launcher,
    engineDir,
    screenshots,
    languages,
    network,
    visibility,
    autoActivate,
    verify,
    saveLimitMb,
    stopGraceSeconds,
  } = game;
  const { totalServers, cachedOn } = presentSync(game, cluster);
  return {
    id,
    slug,
    title,
    developer,
    description,
    tags,
    launcher,
    engineDir,
    thumbnail: game.thumbnail ?? "",
    picture: game.pictureId === null ? null : pictureAddress(config, game.pictureId),
    screenshots,
    contentRating: game.contentRating ?? "",
    languages,
    website: game.website ?? "",
    releaseDate: dayOf(game.releaseDate),
    network,
    visibility,
    autoActivate,
    verify: verify as PartnerGameDetail["verify"], // The database allows no other.
    saveLimitMb,
    stopGraceSeconds,
    resources: presentResources(game),
    ...presentVisibility(game),
    cacheStatus: { servers: totalServers, cached: cachedOn },
  };
}

/** Returns the response to an upload. */
export function presentUpload(
  slug: string,
  { sizeBytes, sha256, versionId, isCurrent }: UploadedArchive,
): UploadResponse {
  const checksum = `sha256:${sha256.toString("hex")}`;
  return { status: "ok", slug, size: sizeBytes, checksum, versionId, isCurrent };
}

function presentListItem(game: ListedGame): PartnerGameListItem {
  const { id, slug, title, developer, tags, createdAt, updatedAt } = game;
  return {
    id,
    slug,
    title,
    developer,
    tags,
    ...presentVisibility(game),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}

/** The partner's status depends only on the archive; the row's status of a hidden game does not. */
function presentVisibility({
  status,
  currentVersionId,
  hiddenAt,
  hiddenReason,
}: Pick<Game, "status" | "currentVersionId" | "hiddenAt" | "hiddenReason">): Pick<
  PartnerGameListItem,
  "status" | "hidden"
> {
  if (hiddenAt === null) return { status };
  return {
    status: currentVersionId === null ? "pending_upload" : "active",
    hidden: { since: hiddenAt.toISOString(), reason: hiddenReason },
  };
}

function dayOf(date: Date | null): string {
  return date === null ? "" : date.toISOString().slice(0, 10);
}

/** Returns the address of a picture or, with an empty id, the common prefix of all picture addresses. */
export function pictureAddress({ baseUrl }: { baseUrl: string }, pictureId: string): string {
  return `${baseUrl}/api/pictures/${pictureId}`;
}
