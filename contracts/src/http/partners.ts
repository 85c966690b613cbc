import { z } from "zod";
import { rootEntryName } from "../crd/schema.ts";
import { limits } from "../limits.ts";
import { httpsUrl, line, paragraphs, requiredLine, slug } from "./text.ts";

const { partner } = limits;

const required = {
  title: requiredLine(partner.titleMaxLength),
  developer: requiredLine(partner.titleMaxLength),
  launcher: rootEntryName,
  engineDir: rootEntryName,
};

const optional = {
  description: paragraphs(partner.descriptionMaxLength),
  tags: z.array(requiredLine(partner.tagMaxLength)).max(partner.tags),
  thumbnail: httpsUrl,
  screenshots: z.array(httpsUrl).max(partner.screenshots),
  contentRating: line(32),
  languages: z.array(z.string().max(35).regex(/^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/, "must be a BCP 47 language tag")).max(partner.languages),
  website: httpsUrl,
  releaseDate: z.iso.date(),
};

/** `POST /api/partners/games`; without a slug, one is made from the title. */
export const RegisterGameRequest = z.strictObject({
  ...required,
  slug: slug.optional(),
  description: optional.description.optional(),
  tags: optional.tags.optional(),
  thumbnail: optional.thumbnail.optional(),
  screenshots: optional.screenshots.optional(),
  contentRating: optional.contentRating.optional(),
  languages: optional.languages.optional(),
  website: optional.website.optional(),
  releaseDate: optional.releaseDate.optional(),
});
export type RegisterGameRequest = z.infer<typeof RegisterGameRequest>;

/** `PATCH /api/partners/games/{slug}`: fields left out stay; null empties an optional one. */
export const PatchGameRequest = z.strictObject({
  title: required.title.optional(),
  developer: required.developer.optional(),
  launcher: required.launcher.optional(),
  engineDir: required.engineDir.optional(),
  description: optional.description.nullish(),
  tags: optional.tags.nullish(),
  thumbnail: optional.thumbnail.nullish(),
  screenshots: optional.screenshots.nullish(),
  contentRating: optional.contentRating.nullish(),
  languages: optional.languages.nullish(),
  website: optional.website.nullish(),
  releaseDate: optional.releaseDate.nullish(),
});
export type PatchGameRequest = z.infer<typeof PatchGameRequest>;

export const PartnerGameStatus = z.enum(["active", "pending_upload"]);
export type PartnerGameStatus = z.infer<typeof PartnerGameStatus>;

export const RegisterGameResponse = z.object({ id: z.string(), slug: z.string(), status: z.literal("pending_upload") });
export type RegisterGameResponse = z.infer<typeof RegisterGameResponse>;

export const PartnerGameListItem = z.object({
  id: z.string(),
  slug: z.string(),
  title: z.string(),
  developer: z.string(),
  tags: z.array(z.string()),
  status: PartnerGameStatus,
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});
export type PartnerGameListItem = z.infer<typeof PartnerGameListItem>;

export const PartnerGamesResponse = z.object({ games: z.array(PartnerGameListItem), total: z.int().min(0) });
export type PartnerGamesResponse = z.infer<typeof PartnerGamesResponse>;

/** Detail of a partner's game; also the answer of PATCH. */
export const PartnerGameDetail = z.object({
  id: z.string(),
  slug: z.string(),
  title: z.string(),
  developer: z.string(),
  description: z.string(),
  tags: z.array(z.string()),
  launcher: z.string(),
  engineDir: z.string(),
  thumbnail: z.string(),
  status: PartnerGameStatus,
  cacheStatus: z.object({ servers: z.int().min(0), cached: z.int().min(0) }),
});
export type PartnerGameDetail = z.infer<typeof PartnerGameDetail>;

export const SyncServer = z.object({
  id: z.string(),
  status: z.enum(["cached", "pending"]),
  cachedAt: z.iso.datetime().nullable(),
});

/** How far the current archive has reached the game servers; `pendingSync` = `totalServers` − `cachedOn`. */
export const SyncResponse = z.object({
  slug: z.string(),
  totalServers: z.int().min(0),
  cachedOn: z.int().min(0),
  pendingSync: z.int().min(0),
  servers: z.array(SyncServer),
});
export type SyncResponse = z.infer<typeof SyncResponse>;

export const UploadResponse = z.object({
  status: z.literal("ok"),
  slug: z.string(),
  /** Bytes of the archive as sent. */
  size: z.int().min(0),
  checksum: z.string().regex(/^sha256:[0-9a-f]{64}$/),
});
export type UploadResponse = z.infer<typeof UploadResponse>;

export const PartnerGameParams = z.object({ slug });
