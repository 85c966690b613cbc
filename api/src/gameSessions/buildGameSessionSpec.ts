import { GameSessionSpec } from "#contracts/crd/gameSessionSpec.ts";
import { limits } from "#contracts/limits.ts";
import type { LaunchQuality } from "#contracts/http/streamQuality.ts";
import type { SiteBounds } from "#contracts/streamQuality.ts";
import type { LaunchContext } from "./launchQueries.ts";
import type { SiteResources } from "../games/siteResources.ts";
import { pictureFor, resourcesFor } from "./resourceProfile.ts";
import { saveVolumeBytesFor } from "./saveVolume.ts";
import type { Slot } from "./slotChoice.ts";
import { buildStreamSpec, siteBoundsFor } from "./streamSpec.ts";

/** The part of a spec that is the same for all sessions of a site. */
export interface GameSessionSettings {
  profile: GameSessionSpec["profile"];
  stream: SiteBounds;
  /** The site's codecs in order of preference. */
  codecs: GameSessionSpec["stream"]["codecs"];
  idleTimeoutSeconds: number;
  startDeadlineSeconds: number;
  downloadDeadlineSeconds: number;
  maxDurationSeconds: number;
  ttlSecondsAfterFinished: number;
}

/** What a spec is built from. */
export interface SpecSource {
  userId: string;
  slug: string;
  context: LaunchContext;
  slot: Omit<Slot, "isPending" | "isUnreadable">;
  settings: GameSessionSettings;
  siteResources: SiteResources;
  /** What the player asked for. */
  quality: LaunchQuality;
  ticketPublicKey: string;
}

/** Returns the spec of a launch's GameSession. */
export function buildGameSessionSpec({
  userId,
  slug,
  context,
  slot,
  settings,
  siteResources,
  quality,
  ticketPublicKey,
}: SpecSource): GameSessionSpec {
  const {
    profile,
    stream,
    codecs,
    idleTimeoutSeconds,
    startDeadlineSeconds,
    downloadDeadlineSeconds,
    maxDurationSeconds,
    ttlSecondsAfterFinished,
  } = settings;
  const graceSeconds = idleTimeoutSeconds * limits.gameSession.expiryMargin;
  return GameSessionSpec.parse({
    userId,
    gameCacheRef: { name: slug },
    contentDigest: context.sha256,
    launcher: context.launcher,
    engineDir: context.engineDir,
    saveSlot: {
      slotId: slot.id,
      number: slot.number,
      generation: slot.generation,
      ...(slot.objectKey === null || slot.sha256 === null
        ? {}
        : { objectKey: slot.objectKey, sha256: slot.sha256 }),
    },
    profile,
    resources: resourcesFor(context, siteResources, profile),
    saveVolumeBytes: saveVolumeBytesFor(context.saveLimitMb, slot),
    network: context.network === "internet" ? "Internet" : "None",
    stream: buildStreamSpec(
      quality,
      siteBoundsFor(stream, pictureFor(context.declared, siteResources)),
      codecs,
    ),
    ticketPublicKey,
    desiredState: "Running",
    expiresAt: new Date(context.now.getTime() + graceSeconds * 1000).toISOString(),
    idleTimeoutSeconds,
    startDeadlineSeconds,
    downloadDeadlineSeconds,
    maxDurationSeconds,
    ttlSecondsAfterFinished,
  });
}
