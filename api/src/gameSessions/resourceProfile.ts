import type { SessionResources } from "#contracts/crd/gameSessionSpec.ts";
import { limits, mebibyte } from "#contracts/limits.ts";
import type { DeclaredResources, SiteResources } from "../games/siteResources.ts";

/** What a game's sessions have used; each figure is null until a session has told it. */
export interface ResourceProfile {
  /** Moving averages. */
  cpuMillicores: number | null;
  peakMemoryMb: number | null;
  /** The highest peak of any session. */
  highestMemoryMb: number | null;
  /** What the next session may use at least, since one ran out of memory. */
  memoryFloorMb: number | null;
}

/** What is known of a game's needs: what its partner declares, and what its sessions have used. */
export interface GameNeeds {
  declared: DeclaredResources;
  profile: ResourceProfile;
}

const {
  resources,
  resources: { declarable },
} = limits;

/**
 * Returns what a session of the game asks for, never more than the site gives. What the partner declares is
 * reserved, and the limit. Otherwise averages say what is reserved, and the highest peak what the limit is:
 * short sessions lower an average, and must not end a long one. A game that ran out of memory gets a higher
 * limit at once.
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

/**
 * Returns the picture of the game's stream: what the partner declares, made to fit what the site gives;
 * undefined for the site's default.
 */
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
