import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { noCollections, programPath, repositoryRoot } from "../processes/programs.ts";
import { temporaryFolder } from "../processes/temporaryFolder.ts";

const run = promisify(execFile);

/** Folder of the chart. */
export const chartFolder = join(repositoryRoot, "charts/joypod");

/** What is looked at of a container that the chart makes. */
export interface Container {
  name: string;
  env?: {
    name: string;
    value?: string;
    valueFrom?: { fieldRef?: { fieldPath: string }; secretKeyRef?: { key: string } };
  }[];
  securityContext?: {
    readOnlyRootFilesystem?: boolean;
    allowPrivilegeEscalation?: boolean;
    capabilities?: { drop?: string[]; add?: string[] };
  };
  resources?: { requests?: object; limits?: { memory?: string } };
  volumeMounts?: { name: string; mountPath: string }[];
  readinessProbe?: { httpGet?: object };
  livenessProbe?: { httpGet?: object };
}

/** What is looked at of a pod that the chart makes. */
export interface PodSpec {
  affinity?: {
    nodeAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: { nodeSelectorTerms: object[] } };
  };
  tolerations?: object[];
  topologySpreadConstraints?: { topologyKey: string }[];
  containers: Container[];
  initContainers?: Container[];
  automountServiceAccountToken?: boolean;
  volumes?: { name: string }[];
}

/** What any object says of itself. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string | undefined };
}

/**
 * What is looked at of an object that the chart makes; a test that looks at more has an interface of its own.
 */
export interface Manifest extends KubeObject {
  metadata: { name: string; namespace?: string; annotations?: Record<string, string> };
  rules?: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
  spec?: {
    replicas?: number;
    maxUnavailable?: number;
    updateStrategy?: { rollingUpdate?: { maxUnavailable?: number | string } };
    template?: { spec: PodSpec };
    containers?: Container[];
    validations?: { expression: string }[];
  };
}

/** As which release, in which namespace. */
interface Release {
  release?: string;
  namespace?: string;
}

/** What Helm made of some values: the objects, or why it refused them. */
export type Rendering = { manifests: Manifest[] } | { error: string };

const templates = new Map<string, Promise<string>>();

/** Returns the arguments for one of the values files in ci. */
export const values = (name: string): string[] => [
  "--values",
  join(chartFolder, "ci", `${name}-values.yaml`),
];

/**
 * Returns the text that Helm makes of the chart by these arguments, without a cluster. What was asked for
 * before is not made again.
 */
export function templateOf(release: Release, ...args: string[]): Promise<string> {
  const key = JSON.stringify([release, args]);
  const text = templates.get(key) ?? template(release, args);
  templates.set(key, text);
  return text;
}

/**
 * Returns what `helm lint --strict` says of the chart with these arguments; rejects when it finds a fault.
 */
export function lint(...args: string[]): Promise<string> {
  return helm("lint", "--strict", chartFolder, ...args);
}

function template(
  { release = "joypod", namespace = "joypod" }: Release,
  args: readonly string[],
): Promise<string> {
  return helm(
    "template",
    release,
    chartFolder,
    "--namespace",
    namespace,
    "--kube-version",
    "1.35.4",
    ...args,
  );
}

async function helm(...args: string[]): Promise<string> {
  const env = { ...process.env, ...noCollections, KUBECONFIG: "/nonexistent" };
  return (await run(await programPath("helm"), args, { env, maxBuffer: 64 * 2 ** 20 })).stdout;
}

/** As strictly as tools that patch what Helm has rendered: a key that stands twice is an error. */
function parseManifests<Looked extends object>(text: string): Looked[] {
  return parseAllDocuments(text)
    .map((document) => {
      const [error] = document.errors;
      if (error !== undefined) throw error;
      return document.toJS() as Looked | null;
    })
    .filter((manifest) => manifest !== null);
}

/** Returns the objects that Helm makes of the chart by these arguments. */
export async function renderOf<Looked extends object = Manifest>(
  release: Release,
  ...args: string[]
): Promise<Looked[]> {
  return parseManifests<Looked>(await templateOf(release, ...args));
}

/**
 * Returns the objects that Helm makes of the chart by these arguments, as release `joypod` in namespace
 * `joypod`.
 */
export function render<Looked extends object = Manifest>(...args: string[]): Promise<Looked[]> {
  return renderOf<Looked>({}, ...args);
}

/** Returns what Helm says where it refuses these arguments. */
export async function renderingError(...args: string[]): Promise<string> {
  const rendering = await rendered(templateOf({}, ...args));
  if (!("error" in rendering)) throw new Error("helm rendered what it should refuse");
  return rendering.error;
}

async function rendered(text: Promise<string>): Promise<Rendering> {
  try {
    return { manifests: parseManifests<Manifest>(await text) };
  } catch (error) {
    if (
      error instanceof Error &&
      "stderr" in error &&
      typeof error.stderr === "string" &&
      error.stderr !== ""
    )
      return { error: error.stderr };
    throw error;
  }
}

const folder = temporaryFolder("test-values");
let files = 0;

/** Renders the chart with one of its ci values files and, over it, these values. */
export async function renderChart(base: string, over: object): Promise<Rendering> {
  const file = join(folder, `${files++}.json`);
  await writeFile(file, JSON.stringify(over));
  return rendered(template({}, [...values(base), "--values", file]));
}

/**
 * Returns whether Helm's message says in words what is wrong: lines of the schema, or a sentence of the
 * chart's own. Anything else is the stack of a template that broke.
 */
export function isInWords(error: string): boolean {
  if (/nil pointer|error calling|wrong type|YAML parse|can't evaluate/.test(error)) return false;
  return (
    /values don't meet the specifications of the schema[^]*- at '/.test(error) ||
    /execution error at \(joypod\/templates\/[^)]+\): [^\n]*[a-z][^\n]*\.\n/.test(error)
  );
}

/** Returns the environment of the containers of a program, by the values that stand in the chart. */
export function environmentOf(manifests: Manifest[], program: string): Record<string, string | undefined> {
  const container = manifests
    .flatMap(({ spec }) => spec?.template?.spec.containers ?? [])
    .find(({ name }) => name === program);
  return Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]));
}
