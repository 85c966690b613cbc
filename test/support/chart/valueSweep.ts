import { isInWords, renderChart, type Manifest } from "./helmTemplate.ts";
import { operatorPods, readEnvironments } from "./programEnvironments.ts";
import type { ServerValidation } from "./serverValidation.ts";
import type { ValueClasses } from "./valueClasses.ts";

/** A value at a path, which is set in addition to a values file. */
export interface Setting {
  path: string[];
  value: unknown;
}

/** Result of trying settings. */
export interface SweepResult {
  rendered: number;
  /** Single settings that the chart rejects in addition to a valid values file. */
  refused: { setting: Setting; error: string }[];
  /** Errors: broken templates, and programs or servers that reject what the chart accepts. */
  faults: string[];
}

/**
 * Tries all settings together with a values file. If they are rejected, tries both halves, until each setting
 * that is rejected alone is found.
 */
export async function trySettings(
  validation: ServerValidation,
  base: string,
  settings: readonly Setting[],
  result: SweepResult,
): Promise<void> {
  const rendering = await renderChart(base, valuesOf(settings));
  if ("manifests" in rendering) {
    result.rendered += 1;
    for (const fault of await faultsOf(validation, rendering.manifests))
      result.faults.push(`${fault}\n  with ${base} and ${describe(settings)}`);
    return;
  }
  if (!isInWords(rendering.error))
    result.faults.push(`not in words: ${rendering.error}\n  with ${base} and ${describe(settings)}`);
  const [setting] = settings;
  if (settings.length === 1 && setting) {
    result.refused.push({ setting, error: rendering.error });
    return;
  }
  const middle = Math.ceil(settings.length / 2);
  for (const half of [settings.slice(0, middle), settings.slice(middle)])
    await trySettings(validation, base, half, result);
}

/**
 * Tries every class of every value with a values file, one class of each value at a time, as often as the
 * largest number of classes.
 */
export async function tryEachClass(
  validation: ServerValidation,
  base: string,
  classes: readonly ValueClasses[],
): Promise<SweepResult> {
  const result: SweepResult = { rendered: 0, refused: [], faults: [] };
  const rounds = Math.max(...classes.map(({ valid }) => valid.length));
  for (let round = 0; round < rounds; round++) {
    const settings = classes.flatMap(({ path, valid }): Setting[] =>
      valid.length === 0 ? [] : [{ path, value: valid[round % valid.length] }],
    );
    await trySettings(validation, base, settings, result);
  }
  return result;
}

/** Returns values with the settings. */
export function valuesOf(settings: readonly Setting[]): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const { path, value } of settings) {
    let place = values;
    for (const name of path.slice(0, -1)) {
      const inner = place[name];
      const next: Record<string, unknown> = isRecord(inner) ? inner : {};
      place[name] = next;
      place = next;
    }
    place[path.at(-1) ?? ""] = value;
  }
  return values;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

async function faultsOf(validation: ServerValidation, manifests: Manifest[]): Promise<string[]> {
  try {
    readEnvironments(manifests);
    return await validation.errorsOf([...manifests, ...operatorPods(manifests)]);
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

function describe(settings: readonly Setting[]): string {
  return settings.length > 8
    ? `${settings.length} settings`
    : settings.map(({ path, value }) => `${path.join(".")}=${JSON.stringify(value)}`).join(" ");
}
