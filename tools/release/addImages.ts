import { mediaTypes, type Descriptor, type OciLayout } from "./ociLayout.ts";
import type { SavedImage, SavedImages } from "./savedImages.ts";

/** Values of the OCI image annotations. */
export interface Origin {
  version: string;
  revision: string;
  created: string;
}

/** Adds an image for one architecture to the layout, and returns the descriptor of its unnamed manifest. */
export function addImage(
  layout: OciLayout,
  name: string,
  architecture: string,
  { config, layers }: SavedImage,
  saved: SavedImages,
  origin: Origin,
): Descriptor {
  const labels = annotationsOf(name, origin);
  const container = typeof config["config"] === "object" ? config["config"] : {};
  // The engine labels every image with the architecture of the machine that built it.
  const written = { ...config, architecture, os: "linux", config: { ...container, Labels: labels } };
  const manifest = {
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: layout.addJson(mediaTypes.config, written),
    layers: layers.map(({ digest }) => layout.addFile(mediaTypes.layer, digest, saved.layerFile(digest))),
    annotations: labels,
  };
  return { ...layout.addJson(mediaTypes.manifest, manifest), platform: { os: "linux", architecture } };
}

/** Adds the index of an image's platforms to the layout as `name:version`, and returns its digest. */
export function addIndex(
  layout: OciLayout,
  name: string,
  manifests: readonly Descriptor[],
  origin: Origin,
): string {
  const index = layout.addJson(mediaTypes.index, {
    schemaVersion: 2,
    mediaType: mediaTypes.index,
    manifests,
    annotations: annotationsOf(name, origin),
  });
  layout.name(index, `${name}:${origin.version}`);
  return index.digest;
}

function annotationsOf(name: string, { version, revision, created }: Origin): Record<string, string> {
  const said = { title: `joypod ${name}`, version, revision, created, licenses: "Apache-2.0" };
  return Object.fromEntries(
    Object.entries(said).map(([key, value]) => [`org.opencontainers.image.${key}`, value]),
  );
}
