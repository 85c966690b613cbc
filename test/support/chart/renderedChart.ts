import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { programPath, repositoryRoot } from "../processes/programs.ts";

const run = promisify(execFile);

/** Folder of the chart. */
export const chartFolder = join(repositoryRoot, "charts/joypod");

interface ContainerManifest {
  name: string;
  env?: { name: string; value?: string; valueFrom?: { fieldRef?: { fieldPath: string }; secretKeyRef?: { key: string } } }[];
}

/** What is looked at of a pod of the chart. */
export interface PodManifest {
  containers: ContainerManifest[];
  initContainers?: ContainerManifest[];
}

/** One object that the chart makes. */
export interface ChartManifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string | undefined };
  spec?: Partial<PodManifest> & { template?: { spec: PodManifest } };
}

/** What Helm made of some values: the objects, or why it refused them. */
export type Rendering = { manifests: ChartManifest[] } | { error: string };

const folder = mkdtempSync(join(tmpdir(), "joypod-test-values-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
let files = 0;

/** Renders the chart as release `joypod` of namespace `joypod` with one of its ci values files and, over it, these values. */
export async function renderChart(base: string, values: object): Promise<Rendering> {
  const file = join(folder, `${files++}.json`);
  await writeFile(file, JSON.stringify(values));
  const args = ["template", "joypod", chartFolder, "--namespace", "joypod", "--kube-version", "1.35.4", "--values", join(chartFolder, `ci/${base}-values.yaml`), "--values", file];
  try {
    const { stdout } = await run(await helm(), args, { maxBuffer: 64 * 2 ** 20 });
    return { manifests: parseAllDocuments(stdout).map((document) => document.toJS() as ChartManifest | null).filter((manifest) => manifest !== null) };
  } catch (error) {
    if (error instanceof Error && "stderr" in error && typeof error.stderr === "string" && error.stderr !== "") return { error: error.stderr };
    throw error;
  }
}

let program: Promise<string> | undefined;

function helm(): Promise<string> {
  return program ??= programPath("helm");
}

/**
 * Returns whether Helm's message says in words what is wrong: lines of the schema, or a sentence of the chart's own. Anything else is the
 * stack of a template that broke.
 */
export function isInWords(error: string): boolean {
  if (/nil pointer|error calling|wrong type|YAML parse|can't evaluate/.test(error)) return false;
  return /values don't meet the specifications of the schema[^]*- at '/.test(error) || /execution error at \(joypod\/templates\/[^)]+\): [^\n]*[a-z][^\n]*\.\n/.test(error);
}
