import { PartnerGameParams, PatchGameRequest, RegisterGameRequest } from "#contracts/http/partners.ts";
import { deleteGame } from "../commands/deleteGame.ts";
import { registerGame } from "../commands/registerGame.ts";
import { noSuchGame, updateGame } from "../commands/updateGame.ts";
import { uploadArchive } from "../commands/uploadArchive.ts";
import type { Deps } from "../deps.ts";
import { presentPartnerGame, presentPartnerGames, presentRegisteredGame, presentSync, presentUpload } from "../presenters/partnerGame.ts";
import type { PartnerPrincipal } from "../routing/appContext.ts";
import { applyRateLimits } from "../routing/applyRateLimits.ts";
import { partnerRoute, type Route } from "../routing/route.ts";
import { PartnerGames, type PartnerGame } from "../stores/partnerGameStore.ts";
import { archiveBodyOf } from "../upload/archiveBody.ts";
import { formatSha256Digest } from "../upload/contentDigest.ts";

const gamesPath = "/api/partners/games";
const gamePath = `${gamesPath}/:slug`;
const limits = ["partner"] as const;
const params = PartnerGameParams;

const list = partnerRoute({
  method: "GET", path: gamesPath, limits,
  handle: async ({ ctx, deps, partner }) => {
    ctx.body = presentPartnerGames(await new PartnerGames(deps.postgres, partner.id).list());
  },
});

const register = partnerRoute({
  method: "POST", path: gamesPath, limits, body: RegisterGameRequest,
  handle: async ({ ctx, deps, partner, body }) => {
    const game = await registerGame(deps, partner, body);
    ctx.status = 201;
    ctx.set("Location", `${deps.config.baseUrl}${gamesPath}/${game.slug}`);
    ctx.body = presentRegisteredGame(game);
  },
});

const detail = partnerRoute({
  method: "GET", path: gamePath, limits, params,
  handle: async ({ ctx, deps, partner, params: { slug } }) => {
    ctx.body = presentPartnerGame(await findGame(deps, partner, slug), deps.cluster);
  },
});

const update = partnerRoute({
  method: "PATCH", path: gamePath, limits, params, body: PatchGameRequest,
  handle: async ({ ctx, deps, partner, params: { slug }, body }) => {
    ctx.body = presentPartnerGame(await updateGame(deps, partner, slug, body), deps.cluster);
  },
});

const upload = partnerRoute({
  method: "PUT", path: `${gamePath}/upload`, limits, params,
  handle: async ({ ctx, deps, partner, params: { slug } }) => {
    const game = await findGame(deps, partner, slug);
    await applyRateLimits(ctx, ["upload"], partner.id);
    const body = archiveBodyOf(ctx, deps.config.partner.uploadMaxBytes);
    const archive = await uploadArchive(deps, partner, game, body).catch(async (error: unknown) => {
      await body.drain();
      throw error;
    });
    ctx.set("Repr-Digest", formatSha256Digest(archive.sha256));
    ctx.body = presentUpload(slug, archive);
  },
});

const sync = partnerRoute({
  method: "GET", path: `${gamePath}/sync`, limits, params,
  handle: async ({ ctx, deps, partner, params: { slug } }) => {
    ctx.body = presentSync(await findGame(deps, partner, slug), deps.cluster);
  },
});

const remove = partnerRoute({
  method: "DELETE", path: gamePath, limits, params,
  handle: async ({ ctx, deps, partner, params: { slug } }) => {
    await deleteGame(deps, partner, slug);
    ctx.status = 204;
  },
});

/** A partner's own games, their archives and how far these have come. */
export const partnerRoutes: readonly Route[] = [list, register, detail, update, upload, sync, remove];

async function findGame({ postgres }: Deps, partner: PartnerPrincipal, slug: string): Promise<PartnerGame> {
  const game = await new PartnerGames(postgres, partner.id).find(slug);
  if (game === null) throw noSuchGame(slug);
  return game;
}
