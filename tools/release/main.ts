// main.ts: writes a release from built images to a folder. Called by tools/release/release.sh. Environment:
// RELEASE_FOLDER, RELEASE_REPOSITORY (registry/path of the images), RELEASE_IMAGES (architecture=values file,
// separated by spaces), RELEASE_PROGRAMS (program=path), RELEASE_DOWNLOADS (optional: address of the
// release's files), ENGINE, HELM, CACHE.
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import { z } from "zod";
import { addImage, addIndex, type Origin } from "./addImages.ts";
import { billOf, debianComponents, goComponents, npmComponents, type Component } from "./billOfMaterials.ts";
import { changelogSection } from "./changelog.ts";
import { packChart } from "./chart.ts";
import { writeChecksums } from "./checksums.ts";
import { commandTable, packCommand } from "./commands.ts";
import { readImageTable, type ImageRow } from "./imageTable.ts";
import { thirdPartyNotices } from "./notices.ts";
import { packKubectlPlugin } from "./krew.ts";
import { OciLayout, type Descriptor } from "./ociLayout.ts";
import { SavedImages, type SavedImage } from "./savedImages.ts";
import { projectVersion } from "./version.ts";

const run = promisify(execFile);
const pairs = z.string().transform((text) =>
  text
    .split(" ")
    .filter((pair) => pair !== "")
    .map((pair): [string, string] => {
      const at = pair.indexOf("=");
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
);
const env = z
  .object({
    RELEASE_FOLDER: z.string().min(1),
    RELEASE_REPOSITORY: z.string().min(1),
    RELEASE_IMAGES: pairs,
    RELEASE_PROGRAMS: pairs,
    RELEASE_DOWNLOADS: z.url().optional(),
    ENGINE: z.string().min(1),
    HELM: z.string().min(1),
    CACHE: z.string().min(1),
  })
  .parse(process.env);
const Images = z.object({ images: z.record(z.string(), z.string()) });

/** Documents of tools/supplyChain/sbom.sh with the npm packages of each image. */
const npmBills: Readonly<Record<string, string>> = { "control-plane": "control-plane", streamer: "streamer" };

const root = join(import.meta.dirname, "../..");
const folder = env.RELEASE_FOLDER;
const version = projectVersion(root);
const images = readImageTable(root);
const references = new Map<string, Record<string, string>>();
for (const [architecture, file] of env.RELEASE_IMAGES)
  references.set(architecture, Images.parse(parse(await readFile(file, "utf8"))).images);
const { stdout: commit } = await run("git", ["log", "-1", "--format=%H %cI"], { cwd: root });
const [revision = "", created = ""] = commit.trim().split(" ");
const origin: Origin = { version, revision, created };

await mkdir(join(folder, "sbom"), { recursive: true });
const layout = new OciLayout(join(folder, "oci"));
const saved = new SavedImages({ engine: env.ENGINE, folder: join(env.CACHE, "release") });
const components = new Map<string, Component>();
for (const row of images) await releaseImage(row);
await packChart({
  root,
  folder,
  helm: env.HELM,
  images,
  repository: env.RELEASE_REPOSITORY,
  version,
  layout,
  created,
});
for (const command of commandTable) await packCommand(root, folder, command, version);
await run(process.execPath, [join(root, "tools/bundle/kubectlJoypod.ts"), folder]);
// The chart's archive is found as joypod-*.tgz at the root.
await run(process.execPath, [join(root, "tools/bundle/publish.ts"), join(folder, "npm")]);
await cp(join(root, "LICENSE"), join(folder, "LICENSE"));
await packKubectlPlugin(folder, { version, created, downloads: env.RELEASE_DOWNLOADS });
const { stdout: modules } = await run("go", ["env", "GOMODCACHE"]);
const notices = await thirdPartyNotices([...components.values()], {
  npm: [join(root, "node_modules")],
  go: modules.trim(),
});
await writeFile(join(folder, "THIRD-PARTY-NOTICES.txt"), notices);
await writeFile(join(folder, "CHANGELOG.md"), await changelogSection(root, version, created.slice(0, 10)));
await writeFile(join(folder, "PLATFORMS.md"), platforms());
await writeChecksums(folder);

/** Adds the image for each architecture that it was built for, and their index. */
async function releaseImage({ value, name, programs }: ImageRow): Promise<void> {
  const manifests: Descriptor[] = [];
  for (const [architecture, byValue] of references) {
    const reference = byValue[value];
    if (reference === undefined) continue;
    console.error(`Adding ${name} for ${architecture} …`);
    const image = await saved.get(reference, architecture);
    manifests.push(addImage(layout, name, architecture, image, saved, origin));
    await writeBill(name, architecture, image, programs);
  }
  if (manifests.length === 0) throw new Error(`The image ${name} was not built for any platform.`);
  addIndex(layout, name, manifests, origin);
}

async function writeBill(
  name: string,
  architecture: string,
  image: SavedImage,
  programs: readonly string[],
): Promise<void> {
  const found = debianComponents(image.packages);
  const npmBill = npmBills[name];
  if (npmBill !== undefined)
    found.push(...npmComponents(await readFile(join(root, "dist/sbom", `${npmBill}.cdx.json`), "utf8")));
  for (const program of programs) {
    const path = new Map(env.RELEASE_PROGRAMS).get(program);
    if (path === undefined) throw new Error(`The program ${program} was not built.`);
    found.push(...(await goComponents(path)));
  }
  for (const component of found) components.set(String(component["purl"]), component);
  const bill = billOf({ name, architecture, version, created, components: found });
  await writeFile(
    join(folder, "sbom", `${name}-${architecture}.cdx.json`),
    JSON.stringify(bill, undefined, 1),
  );
}

/** Returns a Markdown table of the images and their platforms. */
function platforms(): string {
  const rows = images.map(({ value, name }) => {
    const has = [...references]
      .filter(([, byValue]) => byValue[value] !== undefined)
      .map(([architecture]) => `linux/${architecture}`);
    return `| ${name} | ${has.join(", ")} |`;
  });
  return (
    `# Platforms of Joypod ${version}\n\n| Image | Platforms |\n|---|---|\n${rows.join("\n")}\n\nAn image is missing for a platform if its build has to run programs of that platform. This concerns game and streamer (the build caches` +
    " what GStreamer and Node find in the image), Postgres and Redis (whose Debian packages run setup scripts). Game nodes must have the platform of" +
    " game and streamer. The control plane's nodes may have either platform.\n"
  );
}
