import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { parseAllDocuments } from "yaml";
import { namespaces } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { ScaledUpError } from "#operator/drain/drainRelease.ts";
import {
  chartFolder,
  render as renderChart,
  templateOf,
  values as valuesOf,
  type KubeObject,
} from "#test/support/chart/helmTemplate.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { sharedKubeApiServer, type KubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { programPath } from "#test/support/processes/programs.ts";

const run = promisify(execFile);
const maxBuffer = 64 * 2 ** 20;

interface LiveObject {
  kind: string;
  metadata: { name: string; resourceVersion: string };
}

interface DrainJob extends KubeObject {
  spec: { podFailurePolicy?: object; template: { spec: { restartPolicy: string } } };
}

type Job = Pick<LiveObject, "metadata">;

const jobsPath = (namespace: string): string => `/apis/batch/v1/namespaces/${namespace}/jobs`;

/**
 * The commands of the README's section: they apply the text, end the sessions before a removal, and let the
 * Jobs run again.
 */
async function readmeBlocks(): Promise<string[]> {
  const [, section = ""] =
    /^## GitOps\n([^]*?)^## /m.exec(await readFile(join(chartFolder, "README.md"), "utf8")) ?? [];
  return [...section.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = ""]) => block);
}

describe("the rendered chart, applied by another tool than Helm", function () {
  this.timeout(120_000);
  let server: KubeApiServer;
  let folder: string;

  before(async () => {
    server = await sharedKubeApiServer();
    folder = await mkdtemp(join(tmpdir(), "joypod-gitops-"));
  });
  after(async () => rm(folder, { recursive: true }));

  /**
   * In that namespace, as the README says: with --namespace kubectl refuses objects that name another one.
   */
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
    const own = ["sessions", "nodeAgent", "turn"].map(
      (part) => `${part}.namespace=${namespace}-${part.toLowerCase()}`,
    );
    const text = await templateOf(
      { namespace },
      "--skip-tests",
      ...valuesOf(values),
      "--set",
      ["turn.enabled=true,turn.host=turn.example.com", ...own].join(","),
      ...args,
    );
    const path = join(folder, `${namespace}.yaml`);
    await writeFile(path, text);
    return path;
  }

  async function apply(namespace: string, path: string, ...options: string[]): Promise<Map<string, string>> {
    await kubectl(namespace, "apply", "--server-side", "-f", path, ...options);
    const { items } = JSON.parse(await kubectl(namespace, "get", "-f", path, "-o", "json")) as {
      items: LiveObject[];
    };
    return new Map(items.map(({ kind, metadata }) => [`${kind} ${metadata.name}`, metadata.resourceVersion]));
  }

  /** Runs commands of the README, of a release in that namespace, by a kubectl that is in another one. */
  async function runAsWritten(block: string, namespace: string): Promise<void> {
    const directory = await mkdtemp(join(folder, "readme-"));
    const kubeconfig = join(directory, "kubeconfig");
    await cp(server.kubeconfigPath, kubeconfig);
    await cp(join(chartFolder, "ci/external-values.yaml"), join(directory, "values.yaml"));
    const programs = await Promise.all(
      ["helm", "kubectl"].map(async (name) => dirname(await programPath(name))),
    );
    const env = {
      PATH: [...programs, process.env["PATH"]].join(delimiter),
      HOME: directory,
      KUBECONFIG: kubeconfig,
      CHART: chartFolder,
      KUBE_VERSION: "v1.35.4",
    };
    await run("bash", ["-euo", "pipefail", "-c", block.replaceAll("-n joypod", `-n ${namespace}`)], {
      cwd: directory,
      env,
      maxBuffer,
    });
  }

  async function jobsOf(namespace: string): Promise<Job[]> {
    const { items } = (await server.admin.request({ method: "GET", path: jobsPath(namespace) })) as {
      items: Job[];
    };
    return items;
  }

  for (const [values, ...options] of [
    ["bundled"],
    ["external"],
    ["external", "--set", "helmHooks=false"],
  ] as const) {
    it(
      `is applied twice without a conflict or a difference, and once more with other images, with the ${values} values ${options.join(" ")}`.trim(),
      async () => {
        const namespace = await server.createNamespace("gitops");
        const path = await render(namespace, values, ...options);
        // The server has the definitions already, by another manager.
        const first = await apply(namespace, path, "--force-conflicts");
        expect(
          [...first.keys()].filter((name) => name.startsWith("CustomResourceDefinition")),
        ).to.have.length(3);
        expect([...(await apply(namespace, path)).entries()]).to.deep.equal([...first.entries()]);
        const other = await render(
          namespace,
          values,
          ...options,
          "--set",
          "images.controlPlane=joypod/control-plane:0.2.0",
        );
        const second = await apply(namespace, other);
        const jobs = [...second.keys()].filter((name) => name.startsWith("Job"));
        expect(jobs).to.not.be.empty;
        expect(
          jobs.filter((name) => first.has(name)),
          "Jobs, which cannot be changed",
        ).to.be.empty;
        for (const name of ["sessions", "nodeagent", "turn"])
          await new ResourceClient(server.admin, namespaces).delete({ name: `${namespace}-${name}` });
      },
    );
  }

  it("has its sessions ended by the README's commands, which wait until that is done", async () => {
    const namespace = await server.createNamespace("gitops");
    const [, drain = ""] = await readmeBlocks();
    expect(drain).to.match(/^kubectl wait .*--for=condition=complete job /m);
    let isDone = false;
    /** No controller of Jobs is here. */
    async function finish(): Promise<void> {
      const {
        metadata: { name },
      } = await eventually(async () => (await jobsOf(namespace))[0], {
        timeoutMs: 60_000,
        what: "the Job that drains",
      });
      const now = new Date().toISOString();
      const conditions = ["SuccessCriteriaMet", "Complete"].map((type) => ({
        type,
        status: "True",
        reason: "CompletionsReached",
        lastTransitionTime: now,
      }));
      isDone = true;
      await server.admin.request({
        method: "PATCH",
        path: `${jobsPath(namespace)}/${name}/status`,
        contentType: "application/merge-patch+json",
        body: { status: { startTime: now, completionTime: now, succeeded: 1, conditions } },
      });
    }
    await Promise.all([
      runAsWritten(drain, namespace).then(() => expect(isDone, "the commands waited").to.be.true),
      finish(),
    ]);
  });

  it("has its Jobs removed by the README's command, so that they run again", async () => {
    const namespace = await server.createNamespace("gitops");
    for (const component of ["make-secrets", "store-keys", "drain"]) {
      const labels = { "app.kubernetes.io/instance": "joypod", "app.kubernetes.io/component": component };
      const spec = {
        template: { spec: { restartPolicy: "Never", containers: [{ name: component, image: component }] } },
      };
      await server.admin.request({
        method: "POST",
        path: jobsPath(namespace),
        body: { apiVersion: "batch/v1", kind: "Job", metadata: { name: component, labels }, spec },
      });
    }
    const [, , again = ""] = await readmeBlocks();
    await runAsWritten(again, namespace);
    expect((await jobsOf(namespace)).map(({ metadata }) => metadata.name)).to.deep.equal(["drain"]);
  });

  it("is rendered by the README's commands for the cluster's version, because Helm's default may be too old for the chart", async () => {
    const renderings = (await readmeBlocks()).flatMap((block) => block.match(/^helm template .*$/gm) ?? []);
    expect(renderings).to.have.length(2);
    for (const command of renderings) expect(command).to.contain('--kube-version "$KUBE_VERSION"');
  });

  it("has no hooks if they are disabled: the API migrates before it starts, and nothing drains the release", async () => {
    const text = await readFile(
      await render("joypod", "external", "--set", "helmHooks=false,api.existingSecret="),
      "utf8",
    );
    expect(text).to.not.contain("helm.sh/hook").and.not.contain("drain.js");
    const manifests = parseAllDocuments(text).map(
      (document) =>
        document.toJS() as {
          kind: string;
          metadata: { name: string };
          spec?: { template?: { spec: { initContainers?: { name: string }[] } } };
        } | null,
    );
    const api = manifests.find(
      (manifest) => manifest?.kind === "Deployment" && manifest.metadata.name === "joypod-api",
    );
    expect(api?.spec?.template?.spec.initContainers?.map(({ name }) => name)).to.deep.equal(["migrate"]);
    expect(text).to.contain("makeSecrets.js").and.to.contain("giveStoreKeys.js");
    expect(
      await readFile(
        await render("joypod", "external", "--set", "helmHooks=false,uninstall.drainNow=true"),
        "utf8",
      ),
    ).to.contain("drain.js");
  });

  it("does not drain a release again whose programs were started again", async () => {
    const drain = (await renderChart<DrainJob>(...valuesOf("external"))).find(
      ({ kind, metadata }) => kind === "Job" && metadata.name.startsWith("joypod-drain-"),
    );
    expect(drain?.spec.podFailurePolicy).to.deep.equal({
      rules: [{ action: "FailJob", onExitCodes: { operator: "In", values: [ScaledUpError.exitCode] } }],
    });
    expect(drain?.spec.template.spec.restartPolicy, "as the policy wants it").to.equal("Never");
  });
});
