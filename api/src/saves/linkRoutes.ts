import { ReceivedSave, SaveLinkRequest, SaveLinkResponse, SharedSave } from "#contracts/http/saveLinks.ts";
import { SaveVersionParams } from "#contracts/http/saves.ts";
import type { Audit } from "../audit/audit.ts";
import { type UserDeps, userRouteFor } from "../auth/requireUser.ts";
import { applyRateLimits } from "../http/applyRateLimits.ts";
import { createRemember } from "../http/idempotency.ts";
import { json } from "../http/responses.ts";
import type { Route } from "../http/route.ts";
import { playerChange, presentSlot, saveAuditEvent } from "./present.ts";
import { createSaveLink, readSaveLink, receiveSave, type SaveLinkDeps } from "./saveLinks.ts";

/** Dependencies of these routes. */
type LinkDeps = UserDeps & SaveLinkDeps & { audit: Audit; config: { baseUrl: string } };

const route = userRouteFor<LinkDeps>();

const create = route({
  method: "POST",
  path: "/api/games/:slug/saves/:slotId/versions/:versionId/links",
  name: "createSaveLink",
  summary: "Create a link to a copy of a save",
  description:
    "One other player can get a copy of the save with it, once. The player's former link to this version stops working.",
  limits: ["saves"],
  innerLimits: ["saveLinks"],
  params: SaveVersionParams,
  responses: { 201: json(SaveLinkResponse) },
  errors: ["conflict", "slot_in_use"],
  handle: async ({ ctx, deps, user, params: { slug, slotId, versionId } }) => {
    await applyRateLimits(ctx, ["saveLinks"], user.id);
    const { token, expiresAt, slot } = await createSaveLink(
      deps,
      { userId: user.id, slug, slotId },
      versionId,
    );
    deps.audit.recordLater(saveAuditEvent("saveLink.created", playerChange(ctx, user), slug, slot));
    ctx.status = 201;
    ctx.body = {
      url: `${deps.config.baseUrl}/save-link#${token}`,
      expiresAt: expiresAt.toISOString(),
    } satisfies SaveLinkResponse;
  },
});

const show = route({
  method: "POST",
  path: "/api/save-links/show",
  name: "readSaveLink",
  summary: "Show what a link to a save offers",
  description: "Does not use up the link. The token is in the body, so that it is in no log.",
  limits: ["saveLinkReads"],
  body: SaveLinkRequest,
  responses: { 200: json(SharedSave) },
  errors: ["not_found"],
  handle: async ({ ctx, deps, user, body: { token } }) => {
    ctx.body = await readSaveLink(deps, { userId: user.id, token }, `${deps.config.baseUrl}/api/pictures/`);
  },
});

const receive = route({
  method: "POST",
  path: "/api/save-links/receive",
  name: "receiveSave",
  summary: "Copy the save of a link to an empty slot",
  description: "Uses up the link. The sender's saves are unchanged.",
  limits: ["saveLinkReads"],
  innerLimits: ["saveTransfers"],
  body: SaveLinkRequest,
  responses: { 201: json(ReceivedSave) },
  errors: ["not_found", "conflict", "no_empty_slot", "unreadable_save"],
  isIdempotent: true,
  handle: async ({ ctx, deps, user, body: { token } }) => {
    await applyRateLimits(ctx, ["saveTransfers"], user.id);
    const remember = createRemember(ctx, 201);
    const { slug, slot, senderId } = await receiveSave(
      deps,
      { userId: user.id, token },
      remember &&
        ((gameSlug, made, transaction) => remember({ gameSlug, slot: presentSlot(made) }, transaction)),
    );
    const event = saveAuditEvent("saveLink.used", playerChange(ctx, user), slug, slot);
    deps.audit.recordLater({ ...event, details: { ...event.details, sender: senderId } });
    ctx.status = 201;
    ctx.body = { gameSlug: slug, slot: presentSlot(slot) } satisfies ReceivedSave;
  },
});

/** Routes for links that give another player a copy of a save. */
export const saveLinkRoutes: readonly Route<LinkDeps>[] = [create, show, receive];
