import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { z } from "zod";

const run = promisify(execFile);
const Document = z.object({ components: z.array(z.looseObject({ name: z.string() })) });

/** A CycloneDX component of an image. */
export type Component = z.infer<typeof Document>["components"][number];

/** Returns the bill of materials of an image for one architecture. */
export function billOf({
  name,
  architecture,
  version,
  created,
  components,
}: {
  name: string;
  architecture: string;
  version: string;
  created: string;
  components: readonly Component[];
}): object {
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: {
      timestamp: created,
      component: {
        type: "container",
        name: `joypod/${name}`,
        version,
        properties: [{ name: "architecture", value: architecture }],
      },
    },
    components,
  };
}

/**
 * Returns the installed Debian packages in a dpkg status file, or in the status.d files of an image without
 * dpkg.
 */
export function debianComponents(status: string): Component[] {
  const fields = status
    .split(/\n(?=Package: )/)
    .map((paragraph) =>
      Object.fromEntries(
        [...paragraph.matchAll(/^([A-Za-z-]+): (.*)$/gm)].map(([, key = "", value = ""]) => [key, value]),
      ),
    );
  return fields
    .filter(
      (field) => field["Package"] !== undefined && !/deinstall|config-files/.test(field["Status"] ?? ""),
    )
    .map((field) => {
      const { Package: name = "", Version: version = "", Architecture: architecture = "" } = field;
      return {
        type: "library",
        name,
        version,
        purl: `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}&distro=trixie`,
      };
    });
}

/** Returns the modules that a Go program was built from, as recorded in the program. */
export async function goComponents(program: string): Promise<Component[]> {
  const { stdout } = await run("go", ["version", "-m", program]);
  return [...stdout.matchAll(/^\t(?:dep|=>)\t(\S+)\t(\S+)/gm)].map(([, name = "", version = ""]) => ({
    type: "library",
    name,
    version,
    purl: `pkg:golang/${name}@${version}`,
  }));
}

/** Returns the npm packages in a document of `npm sbom`. */
export function npmComponents(document: string): Component[] {
  return Document.parse(JSON.parse(document)).components;
}
