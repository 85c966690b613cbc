// names.ts LAYOUT: prints the names in an OCI layout, one per line, charts last.
import { namesIn, OciLayout } from "./ociLayout.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("usage: names.ts <layout>");
const isChart = (name: string): number => Number(name.startsWith("charts/"));
for (const name of namesIn(new OciLayout(folder)).sort((one, other) => isChart(one) - isChart(other)))
  console.log(name);
