import { z } from "zod";
import { rootEntryName } from "../crd/schema.ts";
import { limits, mebibyte } from "../limits.ts";
import { httpsUrl, isoMoment, line, opaqueId, paragraphs, requiredName, slug } from "./text.ts";

const { partner, save } = limits;
const { stopGraceSeconds } = limits.gameSession;
const { declarable } = limits.resources;

const id = z.string().meta({ examples: ["cm3qk1x2v0001"] });
const slugText = z.string().meta({ examples: ["moonlight-drift"] });

const evenPixels = ({ min, max }: { min: number; max: number }) =>
  z.int().min(min).max(max).multipleOf(2, "must be even");

const resourceFields = {
  memoryMb: z
    .int()
    .min(declarable.memoryMb.min)
    .max(declarable.memoryMb.max)
    .optional()
    .meta({
      description:
        "Memory limit of the game in MiB. It is reserved, and a game that exceeds it is terminated.",
      examples: [4096],
    }),
  cpus: z
    .number()
    .min(declarable.cpuMillicores.min / 1000)
    .max(declarable.cpuMillicores.max / 1000)
    .multipleOf(0.25, "must be whole quarters")
    .optional()
    .meta({
      description: "CPUs that are reserved for the game. It may use more if they are idle.",
      examples: [2.5],
    }),
  gpuShare: z
    .int()
    .min(declarable.gpuShare.min)
    .max(declarable.gpuShare.max)
    .optional()
    .meta({
      description: "Number of the site's GPU shares that the game uses. Ignored with software rendering.",
      examples: [1],
    }),
};
const resolutionFields = { width: evenPixels(declarable.width), height: evenPixels(declarable.height) };
const resolutionMeta = {
  description: "Resolution in pixels that the game is made for, and the largest that it is streamed in.",
  examples: [{ width: 1920, height: 1080 }],
};

export const GameResources = z
  .strictObject({
    ...resourceFields,
    resolution: z.strictObject(resolutionFields).optional().meta(resolutionMeta),
  })
  .meta({
    id: "GameResources",
    description:
      "The resources that a game needs. The site sets a maximum, and a default for omitted fields.",
  });
export type GameResources = z.infer<typeof GameResources>;

/** The resources in a response, which may gain fields. */
const PartnerGameResources = z
  .object({ ...resourceFields, resolution: z.object(resolutionFields).optional().meta(resolutionMeta) })
  .meta({
    id: "PartnerGameResources",
    description: "The resources that the partner declared. The site's defaults apply to omitted fields.",
  });

const required = {
  title: requiredName(partner.titleMaxLength),
  developer: requiredName(partner.titleMaxLength),
  launcher: rootEntryName,
  engineDir: rootEntryName,
};

const optional = {
  description: paragraphs(partner.descriptionMaxLength),
  tags: z.array(requiredName(partner.tagMaxLength)).max(partner.tags),
  thumbnail: httpsUrl,
  screenshots: z.array(httpsUrl).max(partner.screenshots),
  contentRating: line(32),
  languages: z
    .array(
      z
        .string()
        .max(35)
        .regex(/^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/, "must be a BCP 47 language tag"),
    )
    .max(partner.languages),
  website: httpsUrl,
  releaseDate: z.iso.date().refine((day) => day >= "0001-01-01", "must be a day of the year 1 or later"),
  network: z.enum(["none", "internet"]).meta({
    description:
      "The game's network access: `none` (the default), or `internet` for public addresses if the site allows it.",
    examples: ["none"],
  }),
  saveLimitMb: z
    .int()
    .min(save.volumeBytes.min / mebibyte)
    .max(save.volumeBytes.max / mebibyte)
    .meta({
      description: `Size limit of the save folder in MiB. Null means ${save.volumeBytes.default / mebibyte}.`,
      examples: [64],
    }),
  visibility: z.enum(["public", "private"]).meta({
    description: "`public` (the default) shows the game to every player, `private` only to invited ones.",
    examples: ["public"],
  }),
  autoActivate: z.boolean().meta({
    description:
      "Whether an upload becomes the current version at once, which is the default. Otherwise it waits to be activated.",
    examples: [true],
  }),
  verify: z.enum(["off", "report", "require"]).meta({
    description:
      "Whether the platform plays each upload once: `report` does so after it became current, `require` before, and `off` never. Null means what the site does. Some sites verify no games and refuse the first two.",
    examples: ["report"],
  }),
  stopGraceSeconds: z
    .int()
    .min(stopGraceSeconds.min)
    .max(stopGraceSeconds.max)
    .meta({
      description: `Seconds that the game gets to save after SIGTERM, which follows a close request to its windows. Then it is killed. Null means ${stopGraceSeconds.default}.`,
      examples: [10],
    }),
};

/** A field that responses show as "" when it is empty. Clients may send back what they read. */
function orEmpty<T extends z.ZodType>(
  schema: T,
  empty: null | undefined,
  form = "An https address without credentials",
) {
  return z
    .preprocess((value) => (value === "" ? empty : value), schema)
    .optional()
    .meta({ description: `${form}, or empty.` });
}

/** `POST /api/partners/games`. Without a slug, one is derived from the title. */
export const RegisterGameRequest = z
  .strictObject({
    ...required,
    slug: slug.optional(),
    description: optional.description.optional(),
    tags: optional.tags.optional(),
    thumbnail: orEmpty(optional.thumbnail.optional(), undefined),
    screenshots: optional.screenshots.optional(),
    contentRating: optional.contentRating.optional(),
    languages: optional.languages.optional(),
    website: orEmpty(optional.website.optional(), undefined),
    releaseDate: orEmpty(optional.releaseDate.optional(), undefined, "`YYYY-MM-DD`"),
    network: optional.network.optional(),
    visibility: optional.visibility.optional(),
    autoActivate: optional.autoActivate.optional(),
    verify: optional.verify.nullish(),
    saveLimitMb: optional.saveLimitMb.nullish(),
    stopGraceSeconds: optional.stopGraceSeconds.nullish(),
    resources: GameResources.nullish(),
  })
  .meta({
    id: "RegisterGameRequest",
    description: "A new game. Without a slug, one is made from the title.",
  });
export type RegisterGameRequest = z.infer<typeof RegisterGameRequest>;

/** `PATCH /api/partners/games/{slug}`. Omitted fields keep their value; null clears an optional field. */
export const PatchGameRequest = z
  .strictObject({
    title: required.title.optional(),
    developer: required.developer.optional(),
    launcher: required.launcher.optional(),
    engineDir: required.engineDir.optional(),
    description: optional.description.nullish(),
    tags: optional.tags.nullish(),
    thumbnail: orEmpty(optional.thumbnail.nullable(), null),
    screenshots: optional.screenshots.nullish(),
    contentRating: optional.contentRating.nullish(),
    languages: optional.languages.nullish(),
    website: orEmpty(optional.website.nullable(), null),
    releaseDate: orEmpty(optional.releaseDate.nullable(), null, "`YYYY-MM-DD`"),
    network: optional.network.nullish(),
    visibility: optional.visibility.nullish(),
    autoActivate: optional.autoActivate.nullish(),
    verify: optional.verify.nullish(),
    saveLimitMb: optional.saveLimitMb.nullish(),
    stopGraceSeconds: optional.stopGraceSeconds.nullish(),
    resources: GameResources.nullish(),
  })
  .meta({
    id: "PatchGameRequest",
    description: "The fields to change. Omitted fields keep their value; null clears an optional field.",
  });
export type PatchGameRequest = z.infer<typeof PatchGameRequest>;

export const PartnerGameStatus = z.enum(["active", "pending_upload"]).meta({
  id: "PartnerGameStatus",
  description:
    "`pending_upload` until the first version is current, then `active`: visible to players unless it is private.",
});
export type PartnerGameStatus = z.infer<typeof PartnerGameStatus>;

export const RegisterGameResponse = z
  .object({ id, slug: slugText, status: z.literal("pending_upload") })
  .meta({ id: "RegisteredGame", description: "The game is registered and waits for its archive." });
export type RegisterGameResponse = z.infer<typeof RegisterGameResponse>;

export const HiddenGame = z
  .object({
    since: isoMoment,
    reason: z
      .string()
      .nullable()
      .meta({ description: "What the admin says about it.", examples: ["The licence has expired."] }),
  })
  .meta({
    id: "HiddenGame",
    description:
      "Present while an admin hides the game: players cannot find or launch it, and running sessions continue.",
  });

export const PartnerGameListItem = z
  .object({
    id,
    slug: slugText,
    title: z.string().meta({ examples: ["Moonlight Drift"] }),
    developer: z.string().meta({ examples: ["Night Studio"] }),
    tags: z.array(z.string()).meta({ examples: [["racing", "indie"]] }),
    status: PartnerGameStatus,
    hidden: HiddenGame.optional(),
    createdAt: isoMoment,
    updatedAt: isoMoment,
  })
  .meta({ id: "PartnerGame", description: "A game in the partner's list." });
export type PartnerGameListItem = z.infer<typeof PartnerGameListItem>;

export const PartnerGamesResponse = z
  .object({ games: z.array(PartnerGameListItem), total: z.int().min(0) })
  .meta({ id: "PartnerGames", description: "All games of the partner." });
export type PartnerGamesResponse = z.infer<typeof PartnerGamesResponse>;

/** The details of a partner's game, also in the response of PATCH. */
export const PartnerGameDetail = z
  .object({
    id,
    slug: slugText,
    title: z.string().meta({ examples: ["Moonlight Drift"] }),
    developer: z.string().meta({ examples: ["Night Studio"] }),
    description: z.string().meta({ examples: ["Drive until the sun comes up."] }),
    tags: z.array(z.string()).meta({ examples: [["racing", "indie"]] }),
    launcher: z
      .string()
      .meta({ description: "The archive's file that starts the game.", examples: ["play.sh"] }),
    engineDir: z
      .string()
      .meta({ description: "The archive's directory of engine files.", examples: ["engine"] }),
    thumbnail: z.string().meta({
      description: "Address of a picture, or empty.",
      examples: ["https://images.example.org/moonlight-drift.jpg"],
    }),
    picture: z
      .string()
      .nullable()
      .meta({
        description: "Address of the uploaded picture, which players see instead of `thumbnail`.",
        examples: [null],
      }),
    screenshots: z.array(z.string()).meta({
      description: "Addresses of pictures.",
      examples: [["https://images.example.org/moonlight-drift-1.jpg"]],
    }),
    contentRating: z.string().meta({ description: "May be empty.", examples: ["PEGI 12"] }),
    languages: z.array(z.string()).meta({ examples: [["en", "pt-BR"]] }),
    website: z
      .string()
      .meta({ description: "May be empty.", examples: ["https://moonlight-drift.example.org/"] }),
    releaseDate: z.string().meta({ description: "`YYYY-MM-DD`, or empty.", examples: ["2026-10-31"] }),
    network: optional.network,
    visibility: optional.visibility,
    autoActivate: optional.autoActivate,
    verify: optional.verify.nullable(),
    saveLimitMb: optional.saveLimitMb.nullable(),
    stopGraceSeconds: optional.stopGraceSeconds.nullable(),
    resources: PartnerGameResources.nullable(),
    status: PartnerGameStatus,
    hidden: HiddenGame.optional(),
    cacheStatus: z.object({
      servers: z
        .int()
        .min(0)
        .meta({ description: "Game servers in total.", examples: [3] }),
      cached: z
        .int()
        .min(0)
        .meta({ description: "Game servers with the current archive.", examples: [2] }),
    }),
  })
  .meta({ id: "PartnerGameDetail", description: "A game with all settings." });
export type PartnerGameDetail = z.infer<typeof PartnerGameDetail>;

/** Why a game server does not have the current archive. */
export const PendingServer = z
  .object({
    reason: z
      .enum([
        "no_version",
        "waiting",
        "downloading",
        "suspended",
        "on_demand",
        "not_selected",
        "server_unavailable",
        "disk_full",
        "archive_refused",
        "archive_missing",
        "archive_damaged",
        "store_unavailable",
        "download_failed",
      ])
      .meta({ description: "New reasons may be added.", examples: ["disk_full"] }),
    message: z.string().meta({ examples: ["The server's disk has no room for the game. It tries again."] }),
    progressPercent: z
      .int()
      .min(0)
      .max(100)
      .optional()
      .meta({ description: "Only while `downloading`.", examples: [40] }),
  })
  .meta({ id: "PendingServer", description: "Why a game server does not have the current archive." });
export type PendingServer = z.infer<typeof PendingServer>;

export const SyncServer = z
  .object({
    id: z.string().meta({ examples: ["server-1"] }),
    status: z.enum(["cached", "pending"]),
    cachedAt: isoMoment.nullable(),
    pending: PendingServer.optional().meta({ description: "Only while `pending`." }),
  })
  .meta({ id: "SyncServer", description: "A game server. `cached` means it has the current archive." });

/** Distribution of the current archive to the game servers. `pendingSync` = `totalServers` − `cachedOn`. */
export const SyncResponse = z
  .object({
    slug: slugText,
    totalServers: z
      .int()
      .min(0)
      .meta({ examples: [3] }),
    cachedOn: z
      .int()
      .min(0)
      .meta({ examples: [2] }),
    pendingSync: z
      .int()
      .min(0)
      .meta({ description: "`totalServers` − `cachedOn`.", examples: [1] }),
    servers: z.array(SyncServer),
  })
  .meta({ id: "Sync", description: "The distribution of the current archive to the game servers." });
export type SyncResponse = z.infer<typeof SyncResponse>;

/** Media types of a game's picture. */
export const pictureTypes = ["image/png", "image/jpeg", "image/webp", "image/avif"] as const;
export type PictureType = (typeof pictureTypes)[number];

export const PictureResponse = z
  .object({
    slug: slugText,
    picture: z.string().meta({
      description: "Its public address. A new picture gets a new address.",
      examples: ["https://joypod.example/api/pictures/5e0c8f3a-7f0d-4a53-9a35-0d2e6d1c9b11"],
    }),
    type: z.enum(pictureTypes),
    width: z
      .int()
      .min(1)
      .meta({ examples: [1280] }),
    height: z
      .int()
      .min(1)
      .meta({ examples: [720] }),
    size: z
      .int()
      .min(1)
      .meta({ description: "Bytes.", examples: [182_044] }),
  })
  .meta({ id: "Picture", description: "The picture is stored and visible to players." });
export type PictureResponse = z.infer<typeof PictureResponse>;

export const PictureParams = z.object({ pictureId: opaqueId });

export const PartnerGameParams = z.object({ slug });
