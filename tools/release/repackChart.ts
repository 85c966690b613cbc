// repackChart.ts FOLDER REPOSITORY: packs a release's chart again with its images in another repository. The
// images do not change. Environment: HELM.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { packChart } from "./chart.ts";
import { writeChecksums } from "./checksums.ts";
import { readImageTable } from "./imageTable.ts";
import { OciLayout } from "./ociLayout.ts";
import { projectVersion } from "./version.ts";

const [folder, repository] = process.argv.slice(2);
const helm = process.env["HELM"];
if (folder === undefined || repository === undefined || helm === undefined)
  throw new Error("usage: HELM=<path> repackChart.ts <folder> <repository>");
const root = join(import.meta.dirname, "../..");
const { stdout } = await promisify(execFile)("git", ["log", "-1", "--format=%cI"], { cwd: root });
await packChart({
  root,
  folder,
  helm,
  repository,
  images: readImageTable(root),
  version: projectVersion(root),
  layout: new OciLayout(join(folder, "oci")),
  created: stdout.trim(),
});
await writeChecksums(folder);
