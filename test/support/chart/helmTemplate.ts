import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { programPath } from "../processes/programs.ts";
import { chartFolder } from "./renderedChart.ts";

const run = promisify(execFile);

/** What is looked at of a container that the chart makes. */
export interface Container {
  name: string;
  env?: { name: string; value?: string }[];
  securityContext?: { readOnlyRootFilesystem?: boolean; allowPrivilegeEscalation?: boolean; capabilities?: { drop?: string[]; add?: string[] } };
  resources?: { requests?: object; limits?: { memory?: string } };
  readinessProbe?: { httpGet: object };
  livenessProbe?: { httpGet: object };
}

/** What is looked at of a pod that the chart makes. */
export interface PodSpec {
  affinity?: { nodeAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: { nodeSelectorTerms: object[] } } };
  tolerations?: object[];
  topologySpreadConstraints?: { topologyKey: string }[];
  containers: Container[];
  initContainers?: Container[];
  automountServiceAccountToken?: boolean;
}

/** What is looked at of an object that the chart makes. */
export interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string; annotations?: Record<string, string> };
  rules?: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
  spec?: { replicas?: number; maxUnavailable?: number; template?: { spec: PodSpec }; containers?: Container[]; validations?: { expression: string }[] };
}

/** Returns the objects that Helm makes of the chart by these arguments. */
export async function render(...args: string[]): Promise<Manifest[]> {
  const { stdout } = await run(await programPath("helm"),
    ["template", "joypod", chartFolder, "--namespace", "joypod", "--kube-version", "1.35.4", ...args], { maxBuffer: 64 * 2 ** 20 });
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest | null).filter((manifest) => manifest !== null);
}

/** Returns what Helm says where it refuses these arguments. */
export async function renderingError(...args: string[]): Promise<string> {
  try {
    await render(...args);
  } catch (error) {
    return (error as { stderr: string }).stderr;
  }
  throw new Error("helm rendered what it should refuse");
}

/** Returns the arguments for one of the values files in ci. */
export const values = (name: string): string[] => ["--values", join(chartFolder, "ci", `${name}-values.yaml`)];

/** Returns the environment of the containers of a program, by the values that stand in the chart. */
export function environmentOf(manifests: Manifest[], program: string): Record<string, string | undefined> {
  const container = manifests.flatMap(({ spec }) => spec?.template?.spec.containers ?? []).find(({ name }) => name === program);
  return Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]));
}
