import type { ErrorDetail } from "#contracts/http/errors.ts";
import type { GameResources } from "#contracts/http/partners.ts";
import { invalidRequest } from "../errors.ts";
import type { Game } from "../generated/client.ts";
import type { SiteResources } from "./siteResources.ts";

/** What a game's partner declares that it needs, as its row has it; null for the site's default. */
export type DeclaredResources = Pick<
  Game,
  "memoryMb" | "cpuMillicores" | "gpuShare" | "pictureWidth" | "pictureHeight"
>;

/** Returns a declaration as the game's row keeps it; one that is taken back leaves nothing of the former. */
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

/** Returns the declaration as its partner sees it; null when nothing is declared. */
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

/** Throws invalid_request, with each field, when a partner declares more than the site gives any game. */
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
    `The game needs more than this site gives a game: ${named}. An admin can raise games.resources.max of the chart.`,
    details,
  );
}
