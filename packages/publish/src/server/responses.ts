import { z } from "zod";
import { GameChannel } from "#contracts/http/gameChannels.ts";
import { GameVersion, UploadResponse } from "#contracts/http/gameVersions.ts";
import { PartnerGameDetail, SyncResponse } from "#contracts/http/partners.ts";

// What the client reads of responses. Only the named fields are required, and states are any text, so that it
// works with older and newer servers. Other fields pass through to `--json`.

/** A game of the partner. */
export const Game = PartnerGameDetail.pick({ slug: true, launcher: true, engineDir: true }).extend({
  visibility: z.string().optional(),
});
export type Game = z.infer<typeof Game>;

/** The outcome of an upload. */
export const Upload = UploadResponse.pick({ versionId: true, isCurrent: true, size: true, checksum: true });
export type Upload = z.infer<typeof Upload>;

/** Which game servers hold the current version. */
export const Sync = SyncResponse.pick({ totalServers: true, cachedOn: true }).extend({
  servers: z.array(
    z.object({
      id: z.string(),
      status: z.string(),
      /** Why it does not have the version. */
      pending: z.object({ reason: z.string(), message: z.string() }).optional(),
    }),
  ),
});
export type Sync = z.infer<typeof Sync>;

/** A version of a game. */
export const Version = GameVersion.pick({
  id: true,
  label: true,
  size: true,
  uploadedAt: true,
  isCurrent: true,
  channels: true,
  isStored: true,
  cachedOn: true,
})
  .extend({ verification: z.object({ state: z.string(), verdict: z.string().nullable() }).nullish() })
  .loose();
export type Version = z.infer<typeof Version>;

export const Versions = z.object({ versions: z.array(Version) });
export const Channels = z.object({ channels: z.array(GameChannel.loose()) });

/** A session of a game. */
export const Run = z.looseObject({
  id: z.string(),
  gameVersionId: z.string(),
  versionLabel: z.string().nullable(),
  status: z.string(),
  startedAt: z.string(),
  playSeconds: z.number().nullable(),
  usage: z.looseObject({ peakMemoryMb: z.number() }).nullable(),
  endReason: z.string().nullable(),
  failure: z.looseObject({ reason: z.string(), message: z.string().nullable() }).nullable(),
});
export type Run = z.infer<typeof Run>;

export const Runs = z.object({ runs: z.array(Run) });

/** What the platform saw when it played a version by itself. */
export const Verification = z.looseObject({
  /** `waiting`, `running`, `done` or `expired`. */
  state: z.string(),
  /** `good` or `bad`; null without a verdict. */
  verdict: z.string().nullable(),
  /** Whether players get the version only after a good verdict. */
  isRequired: z.boolean(),
  findings: z.array(
    z.looseObject({
      severity: z.string(),
      message: z.string(),
      details: z.array(z.string()),
      help: z.string(),
    }),
  ),
});
export type Verification = z.infer<typeof Verification>;
