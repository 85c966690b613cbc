import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import type { ImageRow } from "./imageTable.ts";
import { mediaTypes, type OciLayout } from "./ociLayout.ts";

const run = promisify(execFile);

/** The chart's repository below that of the images. Helm requires the last part to be the chart's name. */
export const chartName = "charts/joypod";

/**
 * Returns the chart's values with each image pinned to the repository and its digest.
 *
 * @throws If the values do not name an image of the table.
 */
export function pinImages(
  values: string,
  images: readonly ImageRow[],
  { repository, version, layout }: { repository: string; version: string; layout: OciLayout },
): string {
  return images.reduce((text, { value, name }) => {
    const line = new RegExp(String.raw`^(  ${value}: )joypod/${name}:\S+$`, "m");
    if (!line.test(text))
      throw new Error(`charts/joypod/values.yaml does not name the image ${value} as joypod/${name}.`);
    return text.replace(line, `$1${repository}/${name}:${version}@${layout.digestOf(`${name}:${version}`)}`);
  }, values);
}

/**
 * Packs the chart with references to the layout's images in the repository, which need not exist there yet.
 * Adds the chart to the layout and returns the path of the archive.
 */
export async function packChart({
  root,
  folder,
  helm,
  images,
  repository,
  version,
  layout,
  created,
}: {
  root: string;
  folder: string;
  helm: string;
  images: readonly ImageRow[];
  repository: string;
  version: string;
  layout: OciLayout;
  created: string;
}): Promise<string> {
  const work = await mkdtemp(join(folder, ".chart."));
  try {
    const chart = join(work, "joypod");
    await cp(join(root, "charts/joypod"), chart, { recursive: true });
    await cp(join(root, "LICENSE"), join(chart, "LICENSE"));
    const valuesFile = join(chart, "values.yaml");
    await writeFile(
      valuesFile,
      pinImages(await readFile(valuesFile, "utf8"), images, { repository, version, layout }),
    );
    await run(helm, [
      "package",
      chart,
      "--version",
      version,
      "--app-version",
      version,
      "--destination",
      folder,
    ]);
    const archive = join(folder, `joypod-${version}.tgz`);
    await addChart(layout, archive, await readFile(join(chart, "Chart.yaml"), "utf8"), { version, created });
    return archive;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Adds a packed chart to the layout in the form in which Helm pushes it. */
async function addChart(
  layout: OciLayout,
  archive: string,
  description: string,
  { version, created }: { version: string; created: string },
): Promise<void> {
  const about = parse(description) as Record<string, unknown>;
  const digest = `sha256:${createHash("sha256")
    .update(await readFile(archive))
    .digest("hex")}`;
  const manifest = layout.addJson(mediaTypes.manifest, {
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: layout.addJson(mediaTypes.chartConfig, { ...about, version, appVersion: version }),
    layers: [layout.addFile(mediaTypes.chartContent, digest, archive)],
    annotations: {
      "org.opencontainers.image.title": "joypod",
      "org.opencontainers.image.version": version,
      "org.opencontainers.image.created": created,
      "org.opencontainers.image.description": String(about["description"]),
      "org.opencontainers.image.licenses": "Apache-2.0",
    },
  });
  layout.name(manifest, `${chartName}:${version}`);
}
