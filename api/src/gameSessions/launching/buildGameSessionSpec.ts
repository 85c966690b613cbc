import { limits, mebibyte } from "#contracts/limits.ts";
import {
  type LaunchQuality,
  type QualityRequest,
  type SiteBounds,
  qualityWithin,
  sessionBounds,
} from "#contracts/streamQuality.ts";
import { toStreamSpec, type StreamSpec } from "#contracts/crd/streamSpec.ts";
import { GameSessionSpec, type SessionResources } from "#contracts/crd/gameSessionSpec.ts";
import type { LaunchContext, GameNeeds, Slot, ResourceProfile } from "./launchQueries.ts";
import type { SiteResources, DeclaredResources } from "../../games/siteResources.ts";
import { saveBytesMaxOf } from "../../saves/slotHistory.ts";

const { volumeBytes, unpackedBytes: mostUnpackedBytes } = limits.save;

/**
 * Estimates a save's unpacked size if it is unknown, with the limits of game archives. Few saves exceed them.
 */
const { ratio, ratioFreeBytes } = limits.archive;

const {
  resources,
  resources: { declarable },
} = limits;

/** The part of a spec that all sessions of a site share. */
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

/** Input of a spec. */
export interface SpecSource {
  userId: string;
  slug: string;
  context: Pick<
    LaunchContext,
    | "sha256"
    | "launcher"
    | "engineDir"
    | "network"
    | "saveLimitMb"
    | "stopGraceSeconds"
    | "now"
    | keyof GameNeeds
  >;
  slot: Omit<Slot, "isPending" | "isUnreadable" | "isNewer">;
  settings: GameSessionSettings;
  siteResources: SiteResources;
  /** The requested quality. */
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
    stopGraceSeconds: context.stopGraceSeconds ?? limits.gameSession.stopGraceSeconds.default,
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

/**
 * Returns the resources of a session, at most what the site allows. Declared resources are both request and
 * limit. Otherwise the request follows the average usage, and the limit the highest peak: short sessions
 * lower an average, which must not get long ones killed. A game that ran out of memory gets a higher limit at
 * once.
 */
export function resourcesFor(
  { declared, profile }: GameNeeds,
  { normal, most }: SiteResources,
  render: "Gpu" | "Software",
): SessionResources {
  const {
    cpuHeadroom,
    cpuMillicores: { min: leastCpu },
  } = resources;
  const averageCpu =
    profile.cpuMillicores === null
      ? normal.cpuMillicores
      : Math.max(leastCpu, profile.cpuMillicores * cpuHeadroom);
  const limitMb = Math.min(memoryLimitMb({ declared, profile }, normal), most.memoryMb);
  return {
    cpuMillicores: Math.round(Math.min(declared.cpuMillicores ?? averageCpu, most.cpuMillicores)),
    memoryBytes:
      Math.round(Math.min(declared.memoryMb ?? averageMemoryMb(profile, normal), limitMb)) * mebibyte,
    memoryLimitBytes: Math.ceil(limitMb) * mebibyte,
    gpuShare: render === "Gpu" ? Math.min(declared.gpuShare ?? 1, most.gpuShare) : 1,
  };
}

/** Returns the declared picture size, scaled down to the site's maximum; undefined for the site's default. */
export function pictureFor(
  { pictureWidth: width, pictureHeight: height }: DeclaredResources,
  { picture }: Pick<SiteResources, "picture">,
): { width: number; height: number } | undefined {
  if (width === null || height === null) return undefined;
  const scale = Math.min(1, picture.width / width, picture.height / height);
  return {
    width: Math.max(declarable.width.min, evenOf(width * scale)),
    height: Math.max(declarable.height.min, evenOf(height * scale)),
  };
}

function memoryLimitMb({ declared, profile }: GameNeeds, normal: SiteResources["normal"]): number {
  const known =
    declared.memoryMb ?? Math.max(normal.memoryMb, (profile.highestMemoryMb ?? 0) * resources.memoryHeadroom);
  return Math.max(known, profile.memoryFloorMb ?? 0);
}

function averageMemoryMb({ peakMemoryMb }: ResourceProfile, normal: SiteResources["normal"]): number {
  return peakMemoryMb === null
    ? normal.memoryMb
    : Math.max(resources.memoryMb.min, peakMemoryMb * resources.memoryRequestHeadroom);
}

function evenOf(pixels: number): number {
  return 2 * Math.floor(pixels / 2);
}

/**
 * Returns the size of a session's save volume in bytes: the game's save limit or the default, and at least
 * the unpacked size of the slot's save.
 */
export function saveVolumeBytesFor(
  saveLimitMb: number | null,
  slot: Pick<Slot, "objectKey" | "bytes" | "unpackedBytes">,
): number {
  return Math.min(
    Math.max(saveBytesMaxOf(saveLimitMb), wholeMebibytes(storedBytes(slot))),
    2 * volumeBytes.max,
  );
}

/** Returns the unpacked size of the slot's save in bytes, or a generous estimate. */
function storedBytes({
  objectKey,
  bytes,
  unpackedBytes,
}: Pick<Slot, "objectKey" | "bytes" | "unpackedBytes">): number {
  if (objectKey === null) return 0;
  return unpackedBytes ?? Math.min(mostUnpackedBytes, Math.max(ratioFreeBytes, (bytes ?? 0) * ratio));
}

function wholeMebibytes(bytes: number): number {
  return Math.ceil(bytes / mebibyte) * mebibyte;
}

/** Returns the requested quality, or the kept one if the request has at most a start bitrate. */
export function launchedQuality(asked: LaunchQuality | undefined, kept: QualityRequest): LaunchQuality {
  const { startKbps, ...choice } = asked ?? {};
  if (Object.keys(choice).length > 0) return { ...asked };
  return { ...kept, ...(startKbps === undefined ? {} : { startKbps }) };
}

/** Returns the stream's bounds: the site's, with a declared picture size as both default and maximum. */
function siteBoundsFor(site: SiteBounds, picture: { width: number; height: number } | undefined): SiteBounds {
  return picture === undefined
    ? site
    : { ...site, ...picture, maxWidth: picture.width, maxHeight: picture.height };
}

/** Returns the stream settings for the requested quality within the site's bounds. */
function buildStreamSpec(wish: LaunchQuality, site: SiteBounds, codecs: StreamSpec["codecs"]): StreamSpec {
  const bounds = sessionBounds(wish, site);
  return toStreamSpec({ bounds, quality: qualityWithin(wish, bounds), startKbps: wish.startKbps }, codecs);
}
