import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { parseAllDocuments } from "yaml";
import { namespaces } from "#kube/builtin.ts";
import { ResourceClient } from "#kube/resourceClient.ts";
import { templateOf, values as valuesOf } from "#test/support/chart/helmTemplate.ts";
import { sharedKubeApiServer, type KubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { programPath } from "#test/support/processes/programs.ts";

const run = promisify(execFile);
const maxBuffer = 64 * 2 ** 20;

interface LiveObject {
  kind: string;
  metadata: { name: string; resourceVersion: string };
}

describe("the chart's text, applied by another tool than Helm", function () {
  this.timeout(120_000);
  let server: KubeApiServer;
  let folder: string;

  before(async () => {
    server = await sharedKubeApiServer();
    folder = await mkdtemp(join(tmpdir(), "joypod-gitops-"));
  });
  after(async () => rm(folder, { recursive: true }));

  /** In that namespace, as the README says: with --namespace kubectl refuses objects that name another one. */
  async function kubectl(namespace: string, ...args: string[]): Promise<string> {
    const kubeconfig = join(folder, `${namespace}.kubeconfig`);
    await cp(server.kubeconfigPath, kubeconfig);
    const options = { env: { KUBECONFIG: kubeconfig, HOME: folder }, maxBuffer };
    const program = await programPath("kubectl");
    await run(program, ["config", "set-context", "--current", "--namespace", namespace], options);
    return (await run(program, args, options)).stdout;
  }

  /** A file of what the chart renders, without a cluster. */
  async function render(namespace: string, values: string, ...args: string[]): Promise<string> {
    const own = ["sessions", "nodeAgent", "turn"].map((part) => `${part}.namespace=${namespace}-${part.toLowerCase()}`);
    const text = await templateOf({ namespace }, "--skip-tests", ...valuesOf(values), "--set", ["turn.enabled=true,turn.host=turn.example.com", ...own].join(","), ...args);
    const path = join(folder, `${namespace}.yaml`);
    await writeFile(path, text);
    return path;
  }

  async function apply(namespace: string, path: string, ...options: string[]): Promise<Map<string, string>> {
    await kubectl(namespace, "apply", "--server-side", "-f", path, ...options);
    const { items } = JSON.parse(await kubectl(namespace, "get", "-f", path, "-o", "json")) as { items: LiveObject[] };
    return new Map(items.map(({ kind, metadata }) => [`${kind} ${metadata.name}`, metadata.resourceVersion]));
  }

  for (const [values, ...options] of [["bundled"], ["external"], ["external", "--set", "helmHooks=false"]] as const) {
    it(`is applied twice without a conflict or a difference, and once more with other images, with the ${values} values ${options.join(" ")}`.trim(), async () => {
      const namespace = await server.createNamespace("gitops");
      const path = await render(namespace, values, ...options);
      // The server has the definitions already, by another manager.
      const first = await apply(namespace, path, "--force-conflicts");
      expect([...first.keys()].filter((name) => name.startsWith("CustomResourceDefinition"))).to.have.length(3);
      expect([...(await apply(namespace, path)).entries()]).to.deep.equal([...first.entries()]);
      const other = await render(namespace, values, ...options, "--set", "images.controlPlane=joypod/control-plane:0.2.0");
      const second = await apply(namespace, other);
      const jobs = [...second.keys()].filter((name) => name.startsWith("Job"));
      expect(jobs).to.not.be.empty;
      expect(jobs.filter((name) => first.has(name)), "Jobs, which cannot be changed").to.be.empty;
      for (const name of ["sessions", "nodeagent", "turn"]) await new ResourceClient(server.admin, namespaces).delete({ name: `${namespace}-${name}` });
    });
  }

  it("has no hooks where it is told that there are none: the API migrates before it starts, and nothing drains the release", async () => {
    const text = await readFile(await render("joypod", "external", "--set", "helmHooks=false,api.existingSecret="), "utf8");
    expect(text).to.not.contain("helm.sh/hook").and.not.contain("drain.js");
    const manifests = parseAllDocuments(text).map((document) => document.toJS() as { kind: string; metadata: { name: string }; spec?: { template?: { spec: { initContainers?: { name: string }[] } } } } | null);
    const api = manifests.find((manifest) => manifest?.kind === "Deployment" && manifest.metadata.name === "joypod-api");
    expect(api?.spec?.template?.spec.initContainers?.map(({ name }) => name)).to.deep.equal(["migrate"]);
    expect(text).to.contain("makeSecrets.js").and.to.contain("giveStoreKeys.js");
    expect(await readFile(await render("joypod", "external", "--set", "helmHooks=false,uninstall.drainNow=true"), "utf8")).to.contain("drain.js");
  });
});
