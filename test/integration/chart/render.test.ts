import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { parseAllDocuments } from "yaml";
import { programPath, repositoryRoot } from "#test/support/programs.ts";

const run = promisify(execFile);
const chart = join(repositoryRoot, "charts/joypod");

interface Container {
  name: string;
  securityContext?: { readOnlyRootFilesystem?: boolean; allowPrivilegeEscalation?: boolean; capabilities?: { drop?: string[]; add?: string[] } };
  resources?: { requests?: object; limits?: { memory?: string } };
}

interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string; annotations?: Record<string, string> };
  rules?: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
  spec?: { template?: { spec: { containers: Container[]; initContainers?: Container[]; automountServiceAccountToken?: boolean } } };
}

async function render(...args: string[]): Promise<Manifest[]> {
  const { stdout } = await run(await programPath("helm"),
    ["template", "joypod", chart, "--namespace", "joypod", "--kube-version", "1.35.4", ...args], { maxBuffer: 64 * 2 ** 20 });
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest | null).filter((manifest) => manifest !== null);
}

async function refusal(...args: string[]): Promise<string> {
  try {
    await render(...args);
  } catch (error) {
    return (error as { stderr: string }).stderr;
  }
  throw new Error("helm rendered what it should refuse");
}

const values = (name: string): string[] => ["--values", join(chart, "ci", `${name}-values.yaml`)];

describe("the chart", () => {
  for (const name of ["bundled", "external"]) {
    it(`lints strictly with the ${name} values`, async () => {
      const { stdout } = await run(await programPath("helm"), ["lint", "--strict", chart, ...values(name)]);
      expect(stdout).to.contain("0 chart(s) failed");
    });

    it(`restricts every container with the ${name} values`, async () => {
      const pods = (await render(...values(name))).flatMap((manifest) => manifest.spec?.template?.spec ?? []);
      const containers = pods.flatMap((pod) => [...pod.containers, ...(pod.initContainers ?? [])]);
      expect(containers).to.not.be.empty;
      for (const { name: container, securityContext, resources } of containers) {
        expect(securityContext, container).to.include({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false });
        expect(securityContext?.capabilities?.drop, container).to.deep.equal(["ALL"]);
        expect(resources?.limits?.memory, container).to.be.a("string");
        if (container !== "node-agent") expect(securityContext?.capabilities?.add, container).to.equal(undefined);
      }
    });
  }

  it("gives every program a role without wildcards, secrets or escalation", async () => {
    const roles = (await render(...values("bundled"))).filter(({ kind }) => kind === "Role" || kind === "ClusterRole");
    expect(roles.map(({ metadata }) => metadata.name)).to.include.members(["joypod-joypod-operator", "joypod-joypod-node-agent", "joypod-api"]);
    for (const { metadata, rules = [] } of roles) {
      for (const { apiGroups, resources, verbs } of rules) {
        expect([...apiGroups, ...resources, ...verbs], metadata.name).to.not.include("*");
        expect(resources, metadata.name).to.not.include("secrets");
        expect(verbs, metadata.name).to.not.include.oneOf(["escalate", "bind", "impersonate"]);
      }
    }
  });

  it("makes the definitions stay unless told otherwise", async () => {
    const annotationsOf = (manifests: Manifest[]): (string | undefined)[] => manifests
      .filter(({ kind }) => kind === "CustomResourceDefinition").map(({ metadata }) => metadata.annotations?.["helm.sh/resource-policy"]);
    expect(annotationsOf(await render(...values("bundled")))).to.deep.equal(["keep", "keep", "keep"]);
    expect(annotationsOf(await render(...values("bundled"), "--set", "crds.keep=false"))).to.deep.equal([undefined, undefined, undefined]);
    expect(annotationsOf(await render(...values("bundled"), "--set", "crds.install=false"))).to.be.empty;
  });

  it("migrates by a hook with external stores and before the API starts with bundled ones", async () => {
    const hooks = (await render(...values("external"))).filter(({ kind }) => kind === "Job");
    expect(hooks[0]?.metadata.annotations?.["helm.sh/hook"]).to.equal("pre-install,pre-upgrade");
    const api = (await render(...values("bundled"))).find(({ kind, metadata }) => kind === "Deployment" && metadata.name === "joypod-api");
    expect(api?.spec?.template?.spec.initContainers?.map(({ name }) => name)).to.deep.equal(["migrate"]);
  });

  it("gives the API its sign-in providers, as files that nobody else can read, where they are named", async () => {
    const deploymentOf = async (name: string): Promise<string> => JSON.stringify((await render(...values(name)))
      .find(({ kind, metadata }) => kind === "Deployment" && metadata.name === "joypod-api"));
    const external = await deploymentOf("external");
    expect(external).to.contain('{"name":"AUTH_PROVIDERS_FILE","value":"/etc/joypod/auth/providers.json"}');
    expect(external).to.contain('{"name":"auth-providers","secret":{"secretName":"joypod-providers","defaultMode":288}}');
    expect(external).to.contain('{"name":"SESSION_MAX_SECONDS","value":"15552000"}');
    expect(await deploymentOf("bundled")).to.not.contain("auth-providers").and.not.contain("AUTH_PROVIDERS_FILE");
  });

  it("refuses values that cannot work, and says what to do", async () => {
    expect(await refusal()).to.contain("postgres.existingSecret is empty");
    expect(await refusal(...values("bundled"), "--set", "media.portFirst=80")).to.contain("minimum");
    expect(await refusal(...values("bundled"), "--set", "media.portFirst=30000")).to.contain("above media.portLast");
    expect(await refusal(...values("bundled"), "--set", "api.replica=2")).to.match(/additional propert/i);
    expect(await refusal(...values("bundled"), "--set", "api.baseUrl=play.example.com")).to.contain("pattern");
  });
});
