import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { z } from "zod";

const run = promisify(execFile);
const Document = z.object({ components: z.array(z.looseObject({ name: z.string() })) });

/** A part of an image, as CycloneDX lists it. */
export type Component = z.infer<typeof Document>["components"][number];

/** Returns the bill of one image for one architecture. */
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

/** The packages of Debian that dpkg's list, or that of an image without dpkg, names as installed. */
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

/** The modules that a Go program was built from, as the program itself says. */
export async function goComponents(program: string): Promise<Component[]> {
  const { stdout } = await run("go", ["version", "-m", program]);
  return [...stdout.matchAll(/^\t(?:dep|=>)\t(\S+)\t(\S+)/gm)].map(([, name = "", version = ""]) => ({
    type: "library",
    name,
    version,
    purl: `pkg:golang/${name}@${version}`,
  }));
}

/** The packages of npm that `npm sbom` lists. */
export function npmComponents(document: string): Component[] {
  return Document.parse(JSON.parse(document)).components;
}
