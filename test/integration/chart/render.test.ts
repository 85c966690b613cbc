import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { readdir } from "node:fs/promises";
import { expect } from "chai";
import { parseAllDocuments } from "yaml";
import { nodeAgentLabel } from "#contracts/crd/names.ts";
import { programPath, repositoryRoot } from "#test/support/processes/programs.ts";

const run = promisify(execFile);
const chart = join(repositoryRoot, "charts/joypod");

interface Container {
  name: string;
  env?: { name: string; value?: string }[];
  securityContext?: { readOnlyRootFilesystem?: boolean; allowPrivilegeEscalation?: boolean; capabilities?: { drop?: string[]; add?: string[] } };
  resources?: { requests?: object; limits?: { memory?: string } };
  readinessProbe?: { httpGet: object };
  livenessProbe?: { httpGet: object };
}

interface PodSpec {
  affinity?: { nodeAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: { nodeSelectorTerms: object[] } } };
  tolerations?: object[];
  topologySpreadConstraints?: { topologyKey: string }[];
  containers: Container[];
  initContainers?: Container[];
  automountServiceAccountToken?: boolean;
}

interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string; annotations?: Record<string, string> };
  rules?: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
  spec?: { replicas?: number; maxUnavailable?: number; template?: { spec: PodSpec }; containers?: Container[]; validations?: { expression: string }[] };
}

async function render(...args: string[]): Promise<Manifest[]> {
  const { stdout } = await run(await programPath("helm"),
    ["template", "joypod", chart, "--namespace", "joypod", "--kube-version", "1.35.4", ...args], { maxBuffer: 64 * 2 ** 20 });
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest | null).filter((manifest) => manifest !== null);
}

async function renderingError(...args: string[]): Promise<string> {
  try {
    await render(...args);
  } catch (error) {
    return (error as { stderr: string }).stderr;
  }
  throw new Error("helm rendered what it should refuse");
}

const ciNames = ["bundled", "external", "full"];
const values = (name: string): string[] => ["--values", join(chart, "ci", `${name}-values.yaml`)];

describe("the chart", () => {
  it("has a test of every values file in ci", async () => {
    expect((await readdir(join(chart, "ci"))).sort()).to.deep.equal(ciNames.map((name) => `${name}-values.yaml`));
  });

  for (const name of ciNames) {
    it(`lints strictly with the ${name} values`, async () => {
      const { stdout } = await run(await programPath("helm"), ["lint", "--strict", chart, ...values(name)]);
      expect(stdout).to.contain("0 chart(s) failed");
    });

    it(`restricts every container with the ${name} values`, async () => {
      const pods = (await render(...values(name))).flatMap(({ spec }): PodSpec[] => (spec?.containers ? [{ containers: spec.containers }] : [spec?.template?.spec ?? []].flat()));
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
    const jobs = ["joypod-make-secrets", "joypod-store-keys"];
    const roles = (await render(...values("bundled"))).filter(({ kind, metadata }) => (kind === "Role" || kind === "ClusterRole") && !jobs.includes(metadata.name));
    expect(roles.map(({ metadata }) => metadata.name)).to.include.members(["joypod-joypod-operator", "joypod-joypod-node-agent", "joypod-api"]);
    for (const { metadata, rules = [] } of roles) {
      for (const { apiGroups, resources, verbs } of rules) {
        expect([...apiGroups, ...resources, ...verbs], metadata.name).to.not.include("*");
        expect(resources, metadata.name).to.not.include("secrets");
        expect(verbs, metadata.name).to.not.include.oneOf(["escalate", "bind", "impersonate"]);
      }
    }
  });

  it("lets administrators by certificate into session pods, and whom it is told", async () => {
    const expressionIn = async (...args: string[]): Promise<string | undefined> => (await render(...values("bundled"), ...args))
      .find(({ kind, metadata }) => kind === "ValidatingAdmissionPolicy" && metadata.name.endsWith("session-pod-access"))?.spec?.validations?.[0]?.expression;
    expect(await expressionIn()).to.contain('["system:masters","kubeadm:cluster-admins"]');
    expect(await expressionIn("--set", "security.execGroups={support}")).to.contain('["support"]');
  });

  it("gives the jobs that make secrets theirs by name, and the right to create some", async () => {
    const rulesOf = async (name: string, role: string): Promise<object[] | undefined> =>
      (await render(...values(name))).find(({ kind, metadata }) => kind === "Role" && metadata.name === role)?.rules;
    const create = { apiGroups: [""], resources: ["secrets"], verbs: ["create"] };
    const change = (...names: string[]): object => ({ apiGroups: [""], resources: ["secrets"], resourceNames: names.map((name) => `joypod-${name}`), verbs: ["get", "patch"] });
    expect(await rulesOf("bundled", "joypod-make-secrets")).to.deep.equal([create, change("api", "operator", "connection-test", "postgres", "redis", "s3", "api-store", "node-agent-store")]);
    expect(await rulesOf("external", "joypod-make-secrets"), "where an admin gives all").to.equal(undefined);
    for (const name of ["bundled", "external"]) expect(await rulesOf(name, "joypod-store-keys")).to.deep.equal([create, change("node-agent-store", "connection-test-key")]);
  });

  it("makes secrets before all else, with rights that end with it", async () => {
    const hooks = (await render(...values("bundled"))).filter(({ metadata }) => metadata.name.startsWith("joypod-make-secrets"));
    expect(hooks.map(({ kind }) => kind)).to.have.members(["ServiceAccount", "Role", "RoleBinding", "Job"]);
    for (const { kind, metadata: { annotations } } of hooks) {
      expect(annotations, kind).to.deep.equal({
        "helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-weight": kind === "Job" ? "-10" : "-20", "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded",
      });
    }
  });

  const environmentOf = (manifests: Manifest[], program: string): Record<string, string | undefined> => {
    const container = manifests.flatMap(({ spec }) => spec?.template?.spec.containers ?? []).find(({ name }) => name === program);
    return Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]));
  };

  it("tells API and operator how sessions get GPUs, also with values of a release that had only the resource's name", async () => {
    const byDefault = { GPU_RESOURCE_NAME: "nvidia.com/gpu", GPU_GAME_COUNT: "1", GPU_STREAMER_COUNT: "0", GPU_CLAIM_TEMPLATE: "", GPU_DRIVER_CAPABILITIES: "graphics,video,utility,display", GPU_TOLERATIONS: "[]" };
    const unknown = ["game", "streamer", "claim", "slotsPerNode", "runtimeClassName", "driverCapabilities", "groups", "tolerations"].map((name) => `gpu.${name}=null`).join(",");
    for (const args of [[], ["--set", unknown]]) {
      const manifests = await render(...values("external"), ...args);
      expect(environmentOf(manifests, "operator"), args.join(" ")).to.include(byDefault);
      expect(environmentOf(manifests, "api")).to.include({ STREAM_PROFILE: "Gpu" });
    }
    const gpu = { resourceName: "", streamer: { resourceName: "a.example/gpu", count: 2 }, groups: [44, 105], tolerations: [{ key: "games", operator: "Exists" }], runtimeClassName: "nvidia" };
    const told = await render(...values("external"), "--set-json", `gpu=${JSON.stringify(gpu)}`);
    expect(environmentOf(told, "operator")).to.include({
      GPU_RESOURCE_NAME: "", GPU_STREAMER_RESOURCE_NAME: "a.example/gpu", GPU_STREAMER_COUNT: "2", GPU_GROUPS: "44,105", GPU_RUNTIME_CLASS: "nvidia", GPU_TOLERATIONS: '[{"key":"games","operator":"Exists"}]',
    });
    expect(environmentOf(told, "api")).to.include({ STREAM_PROFILE: "Gpu" });
    expect(environmentOf(await render(...values("external"), "--set", "gpu.resourceName="), "api")).to.include({ STREAM_PROFILE: "Software" });
  });

  const wrongGpus: [string, string, string][] = [
    ["a claim beside a resource of a container", "gpu.claim=one,gpu.game.resourceName=a.example/gpu", "leave one of them empty"],
    ["slots that nothing counts", "gpu.slotsPerNode=2", "gpu.claim alone"],
    ["a resource of which nothing is taken", "gpu.streamer.resourceName=a.example/gpu", "set gpu.streamer.count to 1"],
    ["a GPU that no container takes", "gpu.game.count=0", "gpu.resourceName empty"],
    ["root's group", "gpu.groups={0}", "/gpu/groups/0"],
  ];
  for (const [what, set, message] of wrongGpus) {
    it(`refuses ${what}`, async () => expect(await renderingError(...values("external"), "--set", set)).to.contain(message));
  }

  it("takes a claim only where the cluster has them", async () => {
    expect(environmentOf(await render(...values("external"), "--set", "gpu.claim=one"), "operator")).to.include({ GPU_CLAIM_TEMPLATE: "one" });
    expect(await renderingError(...values("external"), "--set", "gpu.claim=one", "--kube-version", "1.33.9")).to.contain("Kubernetes 1.34 or later");
  });

  it("keeps node agents on former game nodes until the operator's label is gone, whatever their taints", async () => {
    const agent = (await render(...values("external"), "--set", "gameNodes.selector=games=yes"))
      .find(({ kind, metadata }) => kind === "DaemonSet" && metadata.name === "joypod-node-agent");
    const { affinity, tolerations } = agent?.spec?.template?.spec ?? {};
    expect(tolerations).to.deep.equal([{ operator: "Exists" }]);
    expect(affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms, "either label").to.deep.equal([
      { matchExpressions: [{ key: nodeAgentLabel, operator: "In", values: ["true"] }] },
      { matchExpressions: [{ key: "games", operator: "In", values: ["yes"] }] },
    ]);
  });

  it("keeps the custom resource definitions at uninstallation unless told otherwise", async () => {
    const annotationsOf = (manifests: Manifest[]): (string | undefined)[] => manifests
      .filter(({ kind }) => kind === "CustomResourceDefinition").map(({ metadata }) => metadata.annotations?.["helm.sh/resource-policy"]);
    expect(annotationsOf(await render(...values("bundled")))).to.deep.equal(["keep", "keep", "keep"]);
    expect(annotationsOf(await render(...values("bundled"), "--set", "crds.keep=false"))).to.deep.equal([undefined, undefined, undefined]);
    expect(annotationsOf(await render(...values("bundled"), "--set", "crds.install=false"))).to.be.empty;
  });

  it("migrates by a hook with external stores and before the API starts with bundled ones", async () => {
    const hooks = (await render(...values("external"))).filter(({ kind, metadata }) => kind === "Job" && metadata.name.startsWith("joypod-migrate-"));
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

  it("lets the kubelet ask every program on a port of its own, where no store has a say", async () => {
    const manifests = await render(...values("external"));
    for (const [name, port] of [["joypod-api", "metrics"], ["joypod-operator", "http"]]) {
      const container = manifests.find(({ kind, metadata }) => kind === "Deployment" && metadata.name === name)?.spec?.template?.spec.containers[0];
      expect(container?.readinessProbe?.httpGet, name).to.deep.equal({ path: "/readyz", port });
      expect(container?.livenessProbe?.httpGet, name).to.deep.equal({ path: "/healthz", port });
    }
  });

  it("runs two of API and operator on different nodes, elsewhere half a minute after theirs fell silent, and lets one go at a time", async () => {
    const manifests = await render(...values("bundled"), "--values", join(repositoryRoot, "tools/platform/placement.yaml"));
    const find = (kind: string, name: string) => manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name)?.spec;
    for (const name of ["joypod-api", "joypod-operator"]) {
      const deployment = find("Deployment", name);
      const pod = deployment?.template?.spec;
      expect(deployment?.replicas, name).to.equal(2);
      expect(find("PodDisruptionBudget", name)?.maxUnavailable, name).to.equal(1);
      expect(pod?.topologySpreadConstraints?.map(({ topologyKey }) => topologyKey), name).to.deep.equal(["kubernetes.io/hostname"]);
      for (const key of ["unreachable", "not-ready"]) {
        expect(pod?.tolerations, name).to.deep.include({ key: `node.kubernetes.io/${key}`, operator: "Exists", effect: "NoExecute", tolerationSeconds: 30 });
      }
    }
    const controlPlane = { key: "node-role.kubernetes.io/control-plane", operator: "Exists", effect: "NoSchedule" };
    expect(find("Deployment", "joypod-api")?.template?.spec.tolerations).to.deep.include(controlPlane);
    for (const store of ["postgres", "redis", "minio"]) {
      const pod = find("StatefulSet", `joypod-${store}`)?.template?.spec;
      expect(pod?.tolerations, store).to.deep.equal([controlPlane]);
      expect(JSON.stringify(pod?.affinity), store).to.contain("node-role.kubernetes.io/control-plane");
    }
  });

  it("describes the release test that shows whether the policies are enforced", async () => {
    const hooks = (await render(...values("external"))).filter(({ metadata }) => metadata.annotations?.["helm.sh/hook"] === "test");
    expect(hooks.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).to.deep.equal(["Pod joypod-network-test"]);
    expect(JSON.stringify(hooks[0])).to.contain("$(JOYPOD_API_SERVICE_HOST):$(JOYPOD_API_SERVICE_PORT)").and.contain("networkTest.js");
    const off = await render(...values("external"), "--set", "networkPolicies.enabled=false");
    expect(off.filter(({ kind, metadata }) => kind === "NetworkPolicy" || metadata.annotations?.["helm.sh/hook"] === "test")).to.be.empty;
  });

  it("gives games the internet only when enabled with all required values", async () => {
    const internet = [...values("bundled"), "--set", "games.network=internet"];
    expect(await renderingError(...internet)).to.contain("internetNameservers");
    const complete = [...internet, "--set", "games.internetNameservers={192.0.2.53}"];
    expect(await renderingError(...complete, "--set", "networkPolicies.enabled=false")).to.contain("enable both, or neither");
    expect(await renderingError(...complete, "--set", "games.internetNameservers={dns.example}")).to.contain("pattern");
    expect(await renderingError(...complete, "--set", "games.deniedRanges={192.0.2.1}")).to.contain("pattern");
    expect(await renderingError(...values("bundled"), "--set", "games.network=lan")).to.contain("games/network");
    const environmentOf = async (name: string, args: string[]): Promise<string> => JSON.stringify((await render(...args)).find(({ kind, metadata }) => kind === "Deployment" && metadata.name === name));
    for (const name of ["joypod-api", "joypod-operator"]) {
      expect(await environmentOf(name, complete)).to.contain('{"name":"GAME_NETWORK","value":"internet"}');
      expect(await environmentOf(name, values("bundled"))).to.contain('{"name":"GAME_NETWORK","value":"none"}');
    }
    expect(await environmentOf("joypod-operator", complete)).to.contain('{"name":"INTERNET_NAMESERVERS","value":"192.0.2.53"}').and.contain('{"name":"PROBE_IMAGE","value":"joypod/control-plane:0.1.0"}');
  });

  it("tells the API what games get, and refuses a default above the maximum", async () => {
    const environmentOf = async (...args: string[]): Promise<string> => JSON.stringify((await render(...values("bundled"), ...args))
      .find(({ kind, metadata }) => kind === "Deployment" && metadata.name === "joypod-api"));
    expect(await environmentOf()).to.contain('{"name":"GAME_MEMORY_MB","value":"1024"}').and.contain('{"name":"GAME_CPUS_MAX","value":"4"}');
    const larger = ["--set", "games.resources.max.memoryMb=65536", "--set", "games.resources.default.cpus=1.5", "--set", "games.resources.max.gpuShare=2"];
    expect(await environmentOf(...larger)).to.contain('{"name":"GAME_MEMORY_MB_MAX","value":"65536"}').and.contain('{"name":"GAME_CPUS","value":"1.5"}').and.contain('{"name":"GAME_GPU_SHARE_MAX","value":"2"}');
    expect(await renderingError(...values("bundled"), "--set", "games.resources.max.cpus=0.25")).to.contain("games.resources.default.cpus is above games.resources.max.cpus");
    expect(await renderingError(...values("bundled"), "--set", "games.resources.max.memoryMb=64")).to.contain("minimum");
  });

  it("lets the operator see the pods of all namespaces, unless they are not to be counted", async () => {
    const counted = async (...args: string[]): Promise<object[] | undefined> => (await render(...values("bundled"), ...args))
      .find(({ kind, metadata }) => kind === "ClusterRole" && metadata.name === "joypod-joypod-operator-other-pods")?.rules;
    expect(await counted()).to.deep.equal([{ apiGroups: [""], resources: ["pods"], verbs: ["list", "watch"] }]);
    const off = ["--set", "gameNodes.countOtherPods=false"];
    expect(await counted(...off)).to.equal(undefined);
    const operator = (await render(...values("bundled"), ...off)).find(({ kind, metadata }) => kind === "Deployment" && metadata.name === "joypod-operator");
    expect(JSON.stringify(operator)).to.contain('{"name":"COUNT_OTHER_PODS","value":"off"}');
  });

  it("wants to know the proxies in front of the API where it makes an Ingress", async () => {
    const error = await renderingError(...values("external"), "--set", "api.trustedProxies=0");
    expect(error).to.contain("Set api.trustedProxies to the number of proxies");
    expect(await render(...values("bundled"), "--set", "api.trustedProxies=0")).to.not.be.empty;
  });

  it("keeps players' addresses on their way to the API's service where told to", async () => {
    const serviceOf = async (...args: string[]): Promise<unknown> => (await render(...values("bundled"), ...args))
      .find(({ kind, metadata }) => kind === "Service" && metadata.name === "joypod-api")?.spec;
    const local = ["--set", "api.service.externalTrafficPolicy=Local"];
    expect(await serviceOf("--set", "api.service.type=LoadBalancer", ...local)).to.include({ type: "LoadBalancer", externalTrafficPolicy: "Local" });
    expect(await serviceOf("--set", "api.service.type=NodePort")).to.not.have.property("externalTrafficPolicy");
    expect(await renderingError(...values("bundled"), ...local)).to.contain("set api.service.type to NodePort or LoadBalancer");
    expect(await renderingError(...values("bundled"), "--set", "api.service.externalTrafficPolicy=Global")).to.contain("externalTrafficPolicy");
  });

  it("tells the API the most that players can ask of the picture, where that is set", async () => {
    const maximaOf = async (...args: string[]): Promise<Record<string, string>> => {
      const api = (await render(...values("bundled"), ...args)).find(({ kind, metadata }) => kind === "Deployment" && metadata.name === "joypod-api");
      const variables = [...JSON.stringify(api?.spec).matchAll(/"name":"(STREAM_MAX_\w+)","value":"(\w+)"/g)];
      return Object.fromEntries(variables.map(([, name = "", value = ""]) => [name, value]));
    };
    expect(await maximaOf()).to.deep.equal({});
    expect(await maximaOf("--set", "stream.maxWidth=2560,stream.maxHeight=1440,stream.maxFps=120,stream.maxKbps=30000")).to.deep.equal({
      STREAM_MAX_WIDTH: "2560", STREAM_MAX_HEIGHT: "1440", STREAM_MAX_FRAMES_PER_SECOND: "120", STREAM_MAX_BITRATE_KBPS: "30000",
    });
    expect(await renderingError(...values("bundled"), "--set", "stream.maxFps=240")).to.contain("maxFps");
  });

  const pods = (manifests: Manifest[]): [string, PodSpec & { priorityClassName?: string }][] =>
    manifests.flatMap(({ kind, metadata, spec }) => (spec?.template ? [[`${kind} ${metadata.name.replace(/-[0-9a-f]{8}$/, "")}`, spec.template.spec]] : []));

  it("gives no pod a priority class of the system's, and each the one that it is told", async () => {
    expect(pods(await render(...values("bundled"))).filter(([, { priorityClassName }]) => priorityClassName !== undefined)).to.deep.equal([]);
    const workloads = ["api", "operator", "nodeAgent", "connectionTest", "turn", "stores.postgres", "stores.redis", "stores.minio", "jobs"];
    const told = await render(...values("bundled"), "--set", `turn.enabled=true,turn.host=turn.example.com,${workloads.map((name) => `${name}.priorityClassName=class-of-${name.replace(/.*\./, "").toLowerCase()}`).join(",")}`);
    expect(Object.fromEntries(pods(told).map(([name, { priorityClassName }]) => [name, priorityClassName]))).to.deep.equal({
      "Deployment joypod-api": "class-of-api", "Deployment joypod-operator": "class-of-operator", "Deployment joypod-turn": "class-of-turn",
      "DaemonSet joypod-node-agent": "class-of-nodeagent", "DaemonSet joypod-connection-test": "class-of-connectiontest",
      "StatefulSet joypod-postgres": "class-of-postgres", "StatefulSet joypod-redis": "class-of-redis", "StatefulSet joypod-minio": "class-of-minio",
      "Job joypod-drain": "class-of-jobs", "Job joypod-make-secrets": "class-of-jobs", "Job joypod-store-keys": "class-of-jobs",
    });
  });

  it("makes the same of values of an earlier release, which lack what has come since", async () => {
    const unknown = ["jobs", "sessions.pods", "api.httpRoute", "api.ingress.controller", "api.serviceAccount", "api.service.annotations", "stores.postgres", "stores.redis", "stores.minio", "commonLabels",
      "connectionTest.service", "nodeAgent.priorityClassName", "operator.podLabels", "operator.tolerations", "turn"].map((name) => `${name}=null`).join(",");
    expect(await render(...values("bundled"), "--set", unknown)).to.deep.equal(await render(...values("bundled")));
  });

  it("tells the operator what session pods get, and leaves out what no value says", async () => {
    const told = environmentOf(await render(...values("full")), "operator");
    expect(told).to.include({
      SESSION_POD_LABELS: '{"cost-center":"play"}', SESSION_POD_ANNOTATIONS: '{"example.com/owner":"games"}', SESSION_POD_NODE_SELECTOR: '{"pool":"games"}', SESSION_POD_PRIORITY_CLASS: "joypod-sample",
      GPU_TOLERATIONS: '[{"effect":"NoSchedule","key":"games","operator":"Equal","value":"yes"}]',
    });
    expect(environmentOf(await render(...values("bundled")), "operator")).to.not.have.any.keys("SESSION_POD_LABELS", "SESSION_POD_PRIORITY_CLASS", "SESSION_RUNTIME_CLASS");
  });

  it("adds what lets archives and event streams through an Ingress, under what the values say, and asks a Gateway for no timeouts", async () => {
    const full = await render(...values("full"), "--set-string", "api.ingress.annotations.nginx\\.ingress\\.kubernetes\\.io/proxy-read-timeout=60");
    expect(full.find(({ kind }) => kind === "Ingress")?.metadata.annotations).to.deep.equal({
      "cert-manager.io/cluster-issuer": "letsencrypt", "nginx.ingress.kubernetes.io/proxy-body-size": "0", "nginx.ingress.kubernetes.io/proxy-request-buffering": "off",
      "nginx.ingress.kubernetes.io/proxy-buffering": "off", "nginx.ingress.kubernetes.io/proxy-read-timeout": "60", "nginx.ingress.kubernetes.io/proxy-send-timeout": "300",
    });
    const route = full.find(({ kind }) => kind === "HTTPRoute");
    expect(route?.spec).to.deep.equal({
      parentRefs: [{ name: "public", namespace: "gateways", sectionName: "https" }], hostnames: ["play.example.com"],
      rules: [{
        matches: [{ path: { type: "PathPrefix", value: "/" } }], backendRefs: [{ name: "joypod-api", port: 80 }], timeouts: { request: "0s", backendRequest: "0s" },
      }],
    });
  });

  const contradictions: [string, string, string][] = [
    ["a label that policies select by", "api.podLabels.app\\.kubernetes\\.io/component=redis", "api.podLabels: app.kubernetes.io/component is Joypod's"],
    ["a label that opens the network to sessions", "sessions.pods.labels.joypod\\.dev/network=internet", "sessions.pods.labels: joypod.dev/network is Joypod's"],
    ["a label that changes a namespace's profile", "commonLabels.pod-security\\.kubernetes\\.io/enforce=privileged", "commonLabels: pod-security.kubernetes.io/enforce is"],
    ["an annotation that loosens a session's container", "sessions.pods.annotations.container\\.apparmor\\.security\\.beta\\.kubernetes\\.io/game=unconfined", "leave it out"],
    ["the system's priority for sessions", "sessions.pods.priorityClassName=system-node-critical", "/sessions/pods/priorityClassName"],
    ["two runtime classes of session pods", "gpu.runtimeClassName=nvidia,sessions.pods.runtimeClassName=gvisor", "a pod has one"],
    ["a priority of sessions said twice", "sessions.pods.priorityClassName=a,operator.env.SESSION_POD_PRIORITY_CLASS=b", "say the same"],
    ["a mount of no volume", "api.extraVolumeMounts[0].name=ca,api.extraVolumeMounts[0].mountPath=/ca", "not in api.extraVolumes: add it there"],
    ["a volume of Joypod's own name", "api.extraVolumes[0].name=tmp", "/api/extraVolumes/0/name"],
    ["a port of the nodes for a Service without one", "api.service.nodePort=30080", "set api.service.type to NodePort"],
    ["a class of load balancers without one", "api.service.type=NodePort,api.service.loadBalancerClass=a/b", "set api.service.type to LoadBalancer"],
    ["a route that belongs to no Gateway", "api.httpRoute.enabled=true,api.trustedProxies=1", "/api/httpRoute/parentRefs"],
    ["a part of a request that lasts longer than it", "api.httpRoute.timeouts.request=1m,api.httpRoute.timeouts.backendRequest=61s", "make it shorter"],
    ["a Gateway whose clients all look like one", "api.httpRoute.enabled=true,api.httpRoute.parentRefs[0].name=public", "Set api.trustedProxies to the number of proxies"],
  ];
  for (const [what, set, message] of contradictions) {
    it(`refuses ${what}`, async () => expect(await renderingError(...values("bundled"), "--set", set)).to.contain(message));
  }

  it("refuses invalid values, saying what to do", async () => {
    expect(await renderingError()).to.contain("postgres.existingSecret is empty");
    expect(await renderingError(...values("bundled"), "--set", "media.portFirst=80")).to.contain("minimum");
    expect(await renderingError(...values("bundled"), "--set", "media.portFirst=30000")).to.contain("above media.portLast");
    expect(await renderingError(...values("bundled"), "--set", "api.replica=2")).to.match(/additional propert/i);
    expect(await renderingError(...values("bundled"), "--set", "api.baseUrl=play.example.com")).to.contain("pattern");
  });
});
