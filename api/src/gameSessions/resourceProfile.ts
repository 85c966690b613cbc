import type { GameSessionSpec } from "#contracts/crd/gameSession.ts";
import { limits } from "#contracts/limits.ts";

/** What a game's sessions have used on average; null until a first one has ended. */
export interface ResourceProfile {
  cpuMillicores: number | null;
  peakMemoryMb: number | null;
}

const { resources } = limits;
const mebibyte = 2 ** 20;

/**
 * Returns the resources that a session of the game requests: what earlier ones used and some more, between a minimum and a maximum.
 * Memory is also a hard limit, so its headroom is larger; a game that was killed at its limit has used all of it and gets more next time.
 */
export function resourcesFor({ cpuMillicores, peakMemoryMb }: ResourceProfile): GameSessionSpec["resources"] {
  const cpu = cpuMillicores === null ? resources.cpuMillicores.default : cpuMillicores * resources.cpuHeadroom;
  const memory = peakMemoryMb === null ? resources.memoryMb.default : peakMemoryMb * resources.memoryHeadroom;
  return {
    cpuMillicores: Math.round(clamp(cpu, resources.cpuMillicores)),
    memoryBytes: Math.round(clamp(memory, resources.memoryMb)) * mebibyte,
  };
}

function clamp(value: number, { min, max }: { min: number; max: number }): number {
  return Math.min(Math.max(value, min), max);
}
