import {
  RenameSaveSlotRequest,
  RestoreSaveRequest,
  SavePictureParams,
  SaveSlotHistory,
  SaveSlotParams,
  SavesParams,
  SavesResponse,
  SaveVersionParams,
} from "#contracts/http/saves.ts";
import { limits as allLimits } from "#contracts/limits.ts";
import { archiveBodyOf, archiveTypes, countUpload } from "../archives/archiveBody.ts";
import { formatSha256Digest } from "../archives/contentDigest.ts";
import type { Audit } from "../audit/audit.ts";
import { type UserDeps, userRouteFor } from "../auth/requireUser.ts";
import type { AppContext } from "../http/appContext.ts";
import { applyRateLimits } from "../http/applyRateLimits.ts";
import { clientGoneSignal } from "../http/body.ts";
import { createRemember } from "../http/idempotency.ts";
import { respondCacheable } from "../http/respondCacheable.ts";
import { cacheable, empty, json, media } from "../http/responses.ts";
import type { Route } from "../http/route.ts";
import { deleteSlot, renameSlot, restoreSave, type RestoreDeps } from "./changeSlot.ts";
import { copySlot } from "./importedSave.ts";
import { downloadName, downloadSave } from "./readableVersion.ts";
import { notFound } from "../errors.ts";
import { pictureIdOf, SavePictureStore } from "./savePictures.ts";
import { playerChange, presentSaves, presentSlot, saveAuditEvent } from "./present.ts";
import { currentVersion, findGameSaves, findSlotHistory, type SlotHistory } from "./slotHistory.ts";
import { packedBytesMaxOf, uploadSave, type UploadSaveDeps, type UploadTarget } from "./uploadSave.ts";

/** Dependencies of these routes. */
type SavesDeps = UserDeps & RestoreDeps & UploadSaveDeps & { audit: Audit };

const route = userRouteFor<SavesDeps>();
const savesPath = "/api/games/:slug/saves";
const slotPath = `${savesPath}/:slotId`;
const limits = ["saves"] as const;
const rawBody = {
  types: archiveTypes,
  description: "The save's archive, in the form of a download.",
  maxBytes: allLimits.save.packedBytes,
};
const uploadErrors = [
  "invalid_request",
  "checksum_mismatch",
  "request_timeout",
  "conflict",
  "payload_too_large",
  "unsupported_media_type",
  "invalid_archive",
] as const;

const list = route({
  method: "GET",
  path: savesPath,
  name: "listSaves",
  summary: "List the saves of a game",
  limits: ["catalog"],
  params: SavesParams,
  description:
    "Includes games that are no longer available, as long as the player has saves of them, but not games that an admin hides.",
  headers: ["If-None-Match"],
  responses: cacheable(SavesResponse),
  errors: [],
  handle: async ({ ctx, deps, user, params: { slug } }) => {
    respondCacheable(
      ctx,
      presentSaves(await findGameSaves(deps, deps.postgres.pool, { userId: user.id, slug })),
    );
  },
});

const uploadNew = route({
  method: "POST",
  path: savesPath,
  name: "uploadNewSave",
  summary: "Upload a save to an empty slot",
  limits,
  innerLimits: ["saveTransfers"],
  params: SavesParams,
  description:
    "The archive is checked while it arrives. A failed upload stores nothing but counts against the rate limit.",
  headers: ["Content-Digest", "Repr-Digest"],
  rawBody,
  responses: { 201: json(SaveSlotHistory, "The new slot.") },
  errors: [...uploadErrors, "no_empty_slot"],
  handle: async ({ ctx, deps, user, params: { slug } }) => {
    await applyRateLimits(ctx, ["saveTransfers"], user.id);
    const slot = await receiveSave(ctx, deps, { userId: user.id, slug });
    deps.audit.recordLater(saveAuditEvent("save.uploaded", playerChange(ctx, user), slug, slot));
    ctx.status = 201;
    ctx.body = presentSlot(slot);
  },
});

const upload = route({
  method: "POST",
  path: `${slotPath}/archive`,
  name: "uploadSave",
  summary: "Upload a save to a slot",
  limits,
  innerLimits: ["saveTransfers"],
  params: SaveSlotParams,
  description:
    "The upload becomes the slot's save, and the previous save stays among its versions. An interrupted upload cannot be resumed. A failed upload changes nothing but counts against the rate limit.",
  headers: ["Content-Digest", "Repr-Digest"],
  rawBody,
  responses: { 200: json(SaveSlotHistory, "The slot.") },
  errors: [...uploadErrors, "slot_in_use"],
  handle: async ({ ctx, deps, user, params: { slug, slotId } }) => {
    await applyRateLimits(ctx, ["saveTransfers"], user.id);
    const slot = await receiveSave(ctx, deps, { userId: user.id, slug, slotId });
    deps.audit.recordLater(saveAuditEvent("save.uploaded", playerChange(ctx, user), slug, slot));
    ctx.body = presentSlot(slot);
  },
});

/** Imports the request's body into a slot. If the client disconnects, the slot keeps its save. */
function receiveSave(ctx: AppContext, deps: SavesDeps, target: UploadTarget): Promise<SlotHistory> {
  const signal = clientGoneSignal(ctx);
  const upload = (): Promise<SlotHistory> =>
    uploadSave(deps, target, (game) => archiveBodyOf(ctx, packedBytesMaxOf(game)), signal);
  return countUpload(deps.metrics, "save", upload, (slot) => currentVersion(slot)?.bytes ?? 0);
}

const restore = route({
  method: "POST",
  path: `${slotPath}/restore`,
  name: "restoreSave",
  summary: "Restore a version of a save",
  limits,
  innerLimits: ["saveTransfers"],
  params: SaveSlotParams,
  description: "The restored save becomes a new version. The previous save stays among the slot's versions.",
  body: RestoreSaveRequest,
  responses: { 200: json(SaveSlotHistory, "The slot.") },
  errors: ["conflict", "slot_in_use", "unreadable_save"],
  isIdempotent: true,
  handle: async ({ ctx, deps, user, params: { slug, slotId }, body: { versionId } }) => {
    await applyRateLimits(ctx, ["saveTransfers"], user.id);
    const remember = createRemember(ctx, 200);
    const slot = await restoreSave(
      deps,
      { userId: user.id, slug, slotId },
      versionId,
      remember && ((after, transaction) => remember(presentSlot(after), transaction)),
    );
    deps.audit.recordLater(saveAuditEvent("save.restored", playerChange(ctx, user), slug, slot));
    ctx.body = presentSlot(slot);
  },
});

const copy = route({
  method: "POST",
  path: `${slotPath}/copy`,
  name: "copySaveSlot",
  summary: "Copy a save to an empty slot",
  limits,
  innerLimits: ["saveTransfers"],
  params: SaveSlotParams,
  responses: { 201: json(SaveSlotHistory, "The new slot.") },
  errors: ["conflict", "slot_in_use", "no_empty_slot", "unreadable_save"],
  isIdempotent: true,
  handle: async ({ ctx, deps, user, params: { slug, slotId } }) => {
    await applyRateLimits(ctx, ["saveTransfers"], user.id);
    const remember = createRemember(ctx, 201);
    const slot = await copySlot(
      deps,
      { userId: user.id, slug, slotId },
      undefined,
      remember && ((made, transaction) => remember(presentSlot(made), transaction)),
    );
    deps.audit.recordLater(saveAuditEvent("save.copied", playerChange(ctx, user), slug, slot));
    ctx.status = 201;
    ctx.body = presentSlot(slot);
  },
});

const copyVersion = route({
  method: "POST",
  path: `${slotPath}/versions/:versionId/copy`,
  name: "copySaveVersion",
  summary: "Copy a version of a save to an empty slot",
  limits,
  innerLimits: ["saveTransfers"],
  params: SaveVersionParams,
  description:
    "To continue from an earlier version, launch the new slot. The slot of the version is unchanged.",
  responses: { 201: json(SaveSlotHistory, "The new slot.") },
  errors: ["conflict", "slot_in_use", "no_empty_slot", "unreadable_save"],
  isIdempotent: true,
  handle: async ({ ctx, deps, user, params: { slug, slotId, versionId } }) => {
    await applyRateLimits(ctx, ["saveTransfers"], user.id);
    const remember = createRemember(ctx, 201);
    const slot = await copySlot(
      deps,
      { userId: user.id, slug, slotId },
      versionId,
      remember && ((made, transaction) => remember(presentSlot(made), transaction)),
    );
    deps.audit.recordLater(saveAuditEvent("save.copied", playerChange(ctx, user), slug, slot));
    ctx.status = 201;
    ctx.body = presentSlot(slot);
  },
});

const picture = route({
  method: "GET",
  path: `${slotPath}/pictures/:pictureId`,
  name: "getSavePicture",
  summary: "Get the picture of a save",
  limits: ["savePicture"],
  params: SavePictureParams,
  description: "What the game showed when the save was stored. The content of an address never changes.",
  responses: { 200: media(["image/jpeg"], "A small JPEG.") },
  errors: ["not_found", "unavailable"],
  handle: async ({ ctx, deps, user, params: { slug, slotId, pictureId } }) => {
    const { slot } = await findSlotHistory(deps, deps.postgres.pool, { userId: user.id, slug, slotId });
    const version = slot.versions.find(
      ({ objectKey, pictureBytes }) => pictureBytes !== null && pictureIdOf(objectKey) === pictureId,
    );
    const bytes =
      version === undefined
        ? undefined
        : await new SavePictureStore(deps.objectStore).read(version.objectKey);
    if (bytes === undefined) throw notFound("There is no such picture.");
    ctx.status = 200;
    ctx.set("Cache-Control", "private, max-age=31536000, immutable");
    ctx.type = "image/jpeg";
    ctx.body = bytes;
  },
});

const rename = route({
  method: "PATCH",
  path: slotPath,
  name: "renameSaveSlot",
  summary: "Rename a slot",
  limits,
  params: SaveSlotParams,
  body: RenameSaveSlotRequest,
  responses: { 200: json(SaveSlotHistory, "The slot.") },
  errors: [],
  handle: async ({ ctx, deps, user, params: { slug, slotId }, body: { label } }) => {
    ctx.body = presentSlot(await renameSlot(deps, { userId: user.id, slug, slotId }, label));
  },
});

const remove = route({
  method: "DELETE",
  path: slotPath,
  name: "deleteSaveSlot",
  summary: "Delete a slot and its saves",
  limits,
  params: SaveSlotParams,
  responses: { 204: empty("The slot is empty.") },
  errors: ["slot_in_use"],
  handle: async ({ ctx, deps, user, params: { slug, slotId } }) => {
    const slot = await deleteSlot(deps, { userId: user.id, slug, slotId });
    deps.audit.recordLater(saveAuditEvent("saveSlot.deleted", playerChange(ctx, user), slug, slot));
    ctx.status = 204;
  },
});

const download = route({
  method: "GET",
  path: `${slotPath}/versions/:versionId/archive`,
  name: "downloadSave",
  summary: "Download a version of a save",
  limits,
  innerLimits: ["saveTransfers"],
  params: SaveVersionParams,
  description:
    "The archive contains the files of the game's save directory. It is read and checked completely before the response begins.",
  responses: {
    200: media(["application/gzip"], "The save's archive.", {
      headers: ["Content-Disposition", "Repr-Digest"],
    }),
  },
  errors: ["conflict", "unreadable_save"],
  handle: async ({ ctx, deps, user, params: { slug, slotId, versionId } }) => {
    await applyRateLimits(ctx, ["saveTransfers"], user.id);
    const { slot } = await findSlotHistory(deps, deps.postgres.pool, { userId: user.id, slug, slotId });
    const { version, stream } = await downloadSave(deps, user.id, slot, versionId);
    ctx.status = 200;
    ctx.set("Content-Disposition", `attachment; filename="${downloadName(slug, slot, version)}"`);
    ctx.set("Repr-Digest", formatSha256Digest(Buffer.from(version.sha256, "hex")));
    ctx.type = "application/gzip";
    ctx.body = stream;
    ctx.length = version.bytes;
  },
});

/** Routes for the player's saves and their versions. */
export const saveRoutes: readonly Route<SavesDeps>[] = [
  list,
  uploadNew,
  restore,
  copy,
  copyVersion,
  picture,
  rename,
  remove,
  upload,
  download,
];
