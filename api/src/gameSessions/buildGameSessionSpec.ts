import { GameSessionSpec } from "#contracts/crd/gameSession.ts";
import type { LaunchWorld } from "./launchStore.ts";
import { resourcesFor } from "./resourceProfile.ts";
import { saveVolumeBytesFor } from "./saveVolume.ts";
import type { Slot } from "./slotChoice.ts";

/** The part of a session that is the same for all of a site's sessions. */
export interface GameSessionSettings {
  profile: GameSessionSpec["profile"];
  stream: Omit<GameSessionSpec["stream"], "codecs">;
  idleTimeoutSeconds: number;
  startDeadlineSeconds: number;
  downloadDeadlineSeconds: number;
  maxDurationSeconds: number;
  ttlSecondsAfterFinished: number;
}

/** How much later than the row the GameSession expires: the operator's idle timeout is only the backstop of the sweeper's. */
export const expiryMargin = 1.25;

export interface SpecSource {
  userId: string;
  slug: string;
  world: LaunchWorld;
  slot: Omit<Slot, "isPending">;
  settings: GameSessionSettings;
  now: Date;
}

/** The whole spec of a launch. */
export function buildGameSessionSpec({ userId, slug, world, slot, settings, now }: SpecSource): GameSessionSpec {
  const { profile, stream, idleTimeoutSeconds, startDeadlineSeconds, downloadDeadlineSeconds, maxDurationSeconds, ttlSecondsAfterFinished } = settings;
  const graceSeconds = startDeadlineSeconds + idleTimeoutSeconds * expiryMargin;
  return GameSessionSpec.parse({
    userId,
    gameCacheRef: { name: slug },
    contentDigest: world.sha256,
    launcher: world.launcher,
    engineDir: world.engineDir,
    saveSlot: {
      slotId: slot.id,
      number: slot.number,
      generation: slot.generation,
      ...(slot.objectKey === null || slot.sha256 === null ? {} : { objectKey: slot.objectKey, sha256: slot.sha256 }),
    },
    profile,
    resources: resourcesFor(world),
    saveVolumeBytes: saveVolumeBytesFor(world.saveLimitMb, slot),
    network: world.network === "internet" ? "Internet" : "None",
    stream: { ...stream, codecs: ["H264", "VP8"] },
    desiredState: "Running",
    expiresAt: new Date(now.getTime() + graceSeconds * 1000).toISOString(),
    idleTimeoutSeconds,
    startDeadlineSeconds,
    downloadDeadlineSeconds,
    maxDurationSeconds,
    ttlSecondsAfterFinished,
  });
}
