import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { KubeError } from "#kube/api/errors.ts";
import type { KubeApiServer } from "../cluster/kubeApiServer.ts";
import { repositoryRoot } from "../processes/programs.ts";
import type { KubeObject } from "./helmTemplate.ts";

const clusterScoped = [
  "Namespace",
  "ClusterRole",
  "ClusterRoleBinding",
  "CustomResourceDefinition",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
  "PriorityClass",
  "RuntimeClass",
];
const sample = { metadata: { name: "joypod-sample" } };

/**
 * Has a real API server say of manifests whether it would take them, by a server-side apply that changes
 * nothing.
 */
export class ServerValidation {
  readonly #server: KubeApiServer;
  /** What the server has taken already, as text. */
  readonly #taken = new Set<string>();
  readonly #namespaces = new Set<string>();

  private constructor(server: KubeApiServer) {
    this.#server = server;
  }

  /**
   * Puts onto the server the kinds of the Gateway API and of the Prometheus operator, and a PriorityClass and
   * a RuntimeClass `joypod-sample`.
   */
  static async start(server: KubeApiServer): Promise<ServerValidation> {
    const validation = new ServerValidation(server);
    for (const kinds of ["gatewayApi/httpRoutes.yaml", "cluster/prometheusOperator/crds.yaml"]) {
      await server.applyCustomResources(await readFile(join(repositoryRoot, "test/support", kinds), "utf8"));
    }
    await validation.#apply({
      apiVersion: "scheduling.k8s.io/v1",
      kind: "PriorityClass",
      ...sample,
      value: 1000,
    });
    await validation.#apply({
      apiVersion: "node.k8s.io/v1",
      kind: "RuntimeClass",
      ...sample,
      handler: "sample",
    });
    return validation;
  }

  /**
   * Returns what the server says against the manifests; nothing when it takes them all. Namespaces that they
   * are in are made where there is none.
   */
  async errorsOf(manifests: readonly KubeObject[]): Promise<string[]> {
    const fresh = manifests.filter((manifest) => !this.#taken.has(JSON.stringify(manifest)));
    for (const namespace of new Set(fresh.map(namespaceOf))) await this.#ensureNamespace(namespace);
    const errors = await Promise.all(
      fresh.map(async (manifest) => {
        const error = await this.#errorOf(manifest);
        if (error === undefined) this.#taken.add(JSON.stringify(manifest));
        return error;
      }),
    );
    return errors.filter((error) => error !== undefined);
  }

  async #errorOf(manifest: KubeObject): Promise<string | undefined> {
    try {
      await this.#apply(manifest, { dryRun: "All" });
      return undefined;
    } catch (error) {
      if (error instanceof KubeError && error.status !== undefined && error.status < 500)
        return `${manifest.kind} ${manifest.metadata.name}: ${error.message}`;
      throw error;
    }
  }

  async #ensureNamespace(name: string): Promise<void> {
    if (this.#namespaces.has(name)) return;
    await this.#apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    this.#namespaces.add(name);
  }

  async #apply(
    manifest: KubeObject & { value?: number; handler?: string },
    query: { dryRun?: string } = {},
  ): Promise<void> {
    await this.#server.admin.request({
      method: "PATCH",
      path: pathOf(manifest),
      query: { fieldManager: "test-values", force: true, fieldValidation: "Strict", ...query },
      contentType: "application/apply-patch+yaml",
      body: manifest,
    });
  }
}

function namespaceOf({ metadata }: KubeObject): string {
  return metadata.namespace ?? "joypod";
}

function pathOf(manifest: KubeObject): string {
  const {
    apiVersion,
    kind,
    metadata: { name },
  } = manifest;
  const lower = kind.toLowerCase();
  const plural = lower.endsWith("y")
    ? `${lower.slice(0, -1)}ies`
    : lower.endsWith("s")
      ? `${lower}es`
      : `${lower}s`;
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return `${root}/${clusterScoped.includes(kind) ? "" : `namespaces/${namespaceOf(manifest)}/`}${plural}/${name}`;
}
