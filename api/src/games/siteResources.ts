import { z } from "zod";
import { limits } from "#contracts/limits.ts";
import { within } from "#runtime/program/readEnvironment.ts";
import type { ErrorDetail } from "#contracts/http/errors.ts";
import type { GameResources } from "#contracts/http/partners.ts";
import { invalidRequest } from "../errors.ts";
import type { Game } from "../generated/client.ts";

const { resources } = limits;
const { declarable } = resources;

/** CPU in thousandths of a core. */
const processors = (fallback: number, { min, max }: { min: number; max: number }) =>
  z.coerce
    .number()
    .min(min / 1000)
    .max(max / 1000)
    .default(fallback / 1000)
    .transform((cpus) => Math.round(cpus * 1000));

/** Environment variables for the resources of games. */
export const siteResourceVariables = {
  GAME_MEMORY_MB: within(resources.memoryMb.default, declarable.memoryMb),
  GAME_MEMORY_MB_MAX: within(resources.memoryMb.max, declarable.memoryMb),
  GAME_CPUS: processors(resources.cpuMillicores.default, declarable.cpuMillicores),
  GAME_CPUS_MAX: processors(resources.cpuMillicores.max, declarable.cpuMillicores),
  GAME_GPU_SHARE_MAX: within(resources.gpuShare.max, declarable.gpuShare),
  GAME_WIDTH_MAX: within(resources.width.max, declarable.width),
  GAME_HEIGHT_MAX: within(resources.height.max, declarable.height),
};
type Variables = z.infer<z.ZodObject<typeof siteResourceVariables>>;

/** The site's resources for games: `normal` is the default, `most` the maximum. */
export interface SiteResources {
  normal: { memoryMb: number; cpuMillicores: number };
  most: { memoryMb: number; cpuMillicores: number; gpuShare: number; width: number; height: number };
  /**
   * Largest size at which a declared picture is streamed: the maximum that can be declared, or the stream's
   * maximum if an admin has set a smaller one.
   */
  picture: { width: number; height: number };
}

/** The stream's maximum; 0 if it is not configured. */
interface StreamMaximum {
  STREAM_MAX_WIDTH: number;
  STREAM_MAX_HEIGHT: number;
}

/** Returns the site's resources from the environment's variables. */
export function siteResourcesOf(env: Variables & StreamMaximum): SiteResources {
  return {
    normal: { memoryMb: env.GAME_MEMORY_MB, cpuMillicores: env.GAME_CPUS },
    most: {
      memoryMb: env.GAME_MEMORY_MB_MAX,
      cpuMillicores: env.GAME_CPUS_MAX,
      gpuShare: env.GAME_GPU_SHARE_MAX,
      width: env.GAME_WIDTH_MAX,
      height: env.GAME_HEIGHT_MAX,
    },
    picture: {
      width: Math.min(env.GAME_WIDTH_MAX, env.STREAM_MAX_WIDTH || Infinity),
      height: Math.min(env.GAME_HEIGHT_MAX, env.STREAM_MAX_HEIGHT || Infinity),
    },
  };
}

/** Adds an issue for each default above its maximum. */
export function checkSiteResources(env: Variables, context: z.RefinementCtx): void {
  const pairs = [
    ["GAME_MEMORY_MB", "GAME_MEMORY_MB_MAX"],
    ["GAME_CPUS", "GAME_CPUS_MAX"],
  ] as const;
  for (const [normal, most] of pairs) {
    if (env[normal] > env[most])
      context.addIssue({
        code: "custom",
        path: [normal],
        message: `is above ${most}: lower it, or raise ${most}`,
      });
  }
}

/** Declared resources of a game as stored; null means the site's default. */
export type DeclaredResources = Pick<
  Game,
  "memoryMb" | "cpuMillicores" | "gpuShare" | "pictureWidth" | "pictureHeight"
>;

/** Returns the columns of a declaration. A withdrawn declaration clears all of them. */
export function declaredResourcesOf(resources: GameResources | null): DeclaredResources {
  const { memoryMb, cpus, gpuShare, resolution } = resources ?? {};
  return {
    memoryMb: memoryMb ?? null,
    cpuMillicores: cpus === undefined ? null : Math.round(cpus * 1000),
    gpuShare: gpuShare ?? null,
    pictureWidth: resolution?.width ?? null,
    pictureHeight: resolution?.height ?? null,
  };
}

/** Returns the declaration for its partner; null when nothing is declared. */
export function presentResources({
  memoryMb,
  cpuMillicores,
  gpuShare,
  pictureWidth,
  pictureHeight,
}: DeclaredResources): GameResources | null {
  const resources = {
    ...(memoryMb !== null && { memoryMb }),
    ...(cpuMillicores !== null && { cpus: cpuMillicores / 1000 }),
    ...(gpuShare !== null && { gpuShare }),
    ...(pictureWidth !== null &&
      pictureHeight !== null && { resolution: { width: pictureWidth, height: pictureHeight } }),
  };
  return Object.keys(resources).length === 0 ? null : resources;
}

/**
 * Checks declared resources against the site's maximum.
 *
 * @throws invalid_request, which names each field
 */
export function checkResources(
  { siteResources: { most } }: { siteResources: SiteResources },
  { resources }: { resources?: GameResources | null | undefined },
): void {
  const { memoryMb, cpus, gpuShare, resolution } = resources ?? {};
  const declared: [string, number | undefined, number][] = [
    ["memoryMb", memoryMb, most.memoryMb],
    ["cpus", cpus, most.cpuMillicores / 1000],
    ["gpuShare", gpuShare, most.gpuShare],
    ["resolution.width", resolution?.width, most.width],
    ["resolution.height", resolution?.height, most.height],
  ];
  const details = declared.flatMap(([name, value, max]): ErrorDetail[] =>
    value === undefined || value <= max
      ? []
      : [{ path: `resources.${name}`, message: `must be at most ${max} at this site` }],
  );
  if (details.length === 0) return;
  const named = details.map(({ path, message }) => `${path}: ${message}`).join("; ");
  throw invalidRequest(
    `The game needs more than this site allows: ${named}. An admin can raise games.resources.max of the chart.`,
    details,
  );
}
