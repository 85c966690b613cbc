import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "chai";
import { nodeAgentLabel } from "#contracts/crd/names.ts";
import {
  chartFolder,
  environmentOf,
  lint,
  render,
  renderingError,
  values,
  type Manifest,
  type PodSpec,
} from "#test/support/chart/helmTemplate.ts";
import { guideBlocks } from "#test/support/fixtures/guides.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";

const ciNames = ["bundled", "external", "full"];

describe("the chart", () => {
  it("has a test for every values file in ci", async () => {
    expect((await readdir(join(chartFolder, "ci"))).sort()).to.deep.equal(
      ciNames.map((name) => `${name}-values.yaml`),
    );
  });

  for (const name of ciNames) {
    it(`lints strictly with the ${name} values`, async () => {
      expect(await lint(...values(name))).to.contain("0 chart(s) failed");
    });

    it(`restricts every container with the ${name} values`, async () => {
      const pods = (await render(...values(name))).flatMap(({ spec }): PodSpec[] =>
        spec?.containers ? [{ containers: spec.containers }] : [spec?.template?.spec ?? []].flat(),
      );
      const containers = pods.flatMap((pod) => [...pod.containers, ...(pod.initContainers ?? [])]);
      expect(containers).to.not.be.empty;
      for (const { name: container, securityContext, resources } of containers) {
        expect(securityContext, container).to.include({
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
        });
        expect(securityContext?.capabilities?.drop, container).to.deep.equal(["ALL"]);
        expect(resources?.limits?.memory, container).to.be.a("string");
        if (container !== "node-agent")
          expect(securityContext?.capabilities?.add, container).to.equal(undefined);
      }
    });
  }

  it("gives every program a role without wildcards, secrets or escalation", async () => {
    const jobs = ["joypod-make-secrets", "joypod-store-keys"];
    const roles = (await render(...values("bundled"))).filter(
      ({ kind, metadata }) => (kind === "Role" || kind === "ClusterRole") && !jobs.includes(metadata.name),
    );
    expect(roles.map(({ metadata }) => metadata.name)).to.include.members([
      "joypod-joypod-operator",
      "joypod-joypod-node-agent",
      "joypod-api",
    ]);
    for (const { metadata, rules = [] } of roles) {
      for (const { apiGroups, resources, verbs } of rules) {
        expect([...apiGroups, ...resources, ...verbs], metadata.name).to.not.include("*");
        expect(resources, metadata.name).to.not.include("secrets");
        expect(verbs, metadata.name).to.not.include.oneOf(["escalate", "bind", "impersonate"]);
      }
    }
  });

  it("lets administrators with a certificate and configured groups into session pods", async () => {
    const expressionIn = async (...args: string[]): Promise<string | undefined> =>
      (await render(...values("bundled"), ...args)).find(
        ({ kind, metadata }) =>
          kind === "ValidatingAdmissionPolicy" && metadata.name.endsWith("session-pod-access"),
      )?.spec?.validations?.[0]?.expression;
    expect(await expressionIn()).to.contain('["system:masters","kubeadm:cluster-admins"]');
    expect(await expressionIn("--set", "security.execGroups={support}")).to.contain('["support"]');
  });

  it("gives jobs that create secrets access to theirs by name, and the right to create secrets", async () => {
    const rulesOf = async (name: string, role: string): Promise<object[] | undefined> =>
      (await render(...values(name))).find(({ kind, metadata }) => kind === "Role" && metadata.name === role)
        ?.rules;
    const create = { apiGroups: [""], resources: ["secrets"], verbs: ["create"] };
    const change = (...names: string[]): object => ({
      apiGroups: [""],
      resources: ["secrets"],
      resourceNames: names.map((name) => `joypod-${name}`),
      verbs: ["get", "patch"],
    });
    expect(await rulesOf("bundled", "joypod-make-secrets")).to.deep.equal([
      create,
      change(
        "api",
        "operator",
        "connection-test",
        "postgres",
        "redis",
        "s3",
        "api-store",
        "node-agent-store",
      ),
    ]);
    expect(await rulesOf("external", "joypod-make-secrets"), "where an admin gives all").to.equal(undefined);
    for (const name of ["bundled", "external"])
      expect(await rulesOf(name, "joypod-store-keys")).to.deep.equal([
        create,
        change("node-agent-store", "connection-test-key"),
      ]);
  });

  it("creates secrets before everything else, with rights that are removed afterwards", async () => {
    const hooks = (await render(...values("bundled"))).filter(({ metadata }) =>
      metadata.name.startsWith("joypod-make-secrets"),
    );
    expect(hooks.map(({ kind }) => kind)).to.have.members(["ServiceAccount", "Role", "RoleBinding", "Job"]);
    for (const {
      kind,
      metadata: { annotations },
    } of hooks) {
      expect(annotations, kind).to.deep.equal({
        "helm.sh/hook": "pre-install,pre-upgrade",
        "helm.sh/hook-weight": kind === "Job" ? "-10" : "-20",
        "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded",
      });
    }
  });

  it("configures API and operator for GPUs, including with values of a release that had only the resource's name", async () => {
    const byDefault = {
      GPU_RESOURCE_NAME: "nvidia.com/gpu",
      GPU_GAME_COUNT: "1",
      GPU_STREAMER_COUNT: "0",
      GPU_CLAIM_TEMPLATE: "",
      GPU_DRIVER_CAPABILITIES: "graphics,video,compute,utility,display",
      GPU_TOLERATIONS: "[]",
    };
    const unknown = [
      "game",
      "streamer",
      "claim",
      "slotsPerNode",
      "runtimeClassName",
      "driverCapabilities",
      "groups",
      "tolerations",
    ]
      .map((name) => `gpu.${name}=null`)
      .join(",");
    for (const args of [[], ["--set", unknown]]) {
      const manifests = await render(...values("external"), ...args);
      expect(environmentOf(manifests, "operator"), args.join(" ")).to.include(byDefault);
      expect(environmentOf(manifests, "api")).to.include({ STREAM_PROFILE: "Gpu" });
    }
    const gpu = {
      resourceName: "",
      streamer: { resourceName: "a.example/gpu", count: 2 },
      groups: [44, 105],
      tolerations: [{ key: "games", operator: "Exists" }],
      runtimeClassName: "nvidia",
    };
    const told = await render(...values("external"), "--set-json", `gpu=${JSON.stringify(gpu)}`);
    expect(environmentOf(told, "operator")).to.include({
      GPU_RESOURCE_NAME: "",
      GPU_STREAMER_RESOURCE_NAME: "a.example/gpu",
      GPU_STREAMER_COUNT: "2",
      GPU_GROUPS: "44,105",
      GPU_RUNTIME_CLASS: "nvidia",
      GPU_TOLERATIONS: '[{"key":"games","operator":"Exists"}]',
    });
    expect(environmentOf(told, "api")).to.include({ STREAM_PROFILE: "Gpu" });
    expect(
      environmentOf(await render(...values("external"), "--set", "gpu.resourceName="), "api"),
    ).to.include({ STREAM_PROFILE: "Software" });
  });

  const wrongGpus: [string, string, string][] = [
    [
      "a claim beside a resource of a container",
      "gpu.claim=one,gpu.game.resourceName=a.example/gpu",
      "leave one of them empty",
    ],
    ["slots that nothing counts", "gpu.slotsPerNode=2", "needs gpu.claim"],
    [
      "a resource of which nothing is taken",
      "gpu.streamer.resourceName=a.example/gpu",
      "set gpu.streamer.count to 1",
    ],
    ["a GPU that no container takes", "gpu.game.count=0", "gpu.resourceName empty"],
    ["a GPU that games do not reach", "gpu.game.count=0,gpu.streamer.count=1", "gpu.runtimeClassName"],
    [
      "a resource for the streamer alone",
      "gpu.resourceName=,gpu.streamer.resourceName=a.example/gpu,gpu.streamer.count=1",
      "gpu.runtimeClassName",
    ],
    ["root's group", "gpu.groups={0}", "/gpu/groups/0"],
  ];
  for (const [what, set, message] of wrongGpus) {
    it(`rejects ${what}`, async () =>
      expect(await renderingError(...values("external"), "--set", set)).to.contain(message));
  }

  it("accepts resource claims only if the cluster supports them", async () => {
    expect(
      environmentOf(await render(...values("external"), "--set", "gpu.claim=one"), "operator"),
    ).to.include({ GPU_CLAIM_TEMPLATE: "one" });
    expect(
      await renderingError(...values("external"), "--set", "gpu.claim=one", "--kube-version", "1.33.9"),
    ).to.contain("Kubernetes 1.34 or later");
  });

  it("keeps node agents on former game nodes until the operator's label is removed, regardless of taints", async () => {
    const agent = (await render(...values("external"), "--set", "gameNodes.selector=games=yes")).find(
      ({ kind, metadata }) => kind === "DaemonSet" && metadata.name === "joypod-node-agent",
    );
    const { affinity, tolerations } = agent?.spec?.template?.spec ?? {};
    expect(tolerations).to.deep.equal([{ operator: "Exists" }]);
    expect(
      affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms,
      "either label",
    ).to.deep.equal([
      { matchExpressions: [{ key: nodeAgentLabel, operator: "In", values: ["true"] }] },
      { matchExpressions: [{ key: "games", operator: "In", values: ["yes"] }] },
    ]);
  });

  it("updates a quarter of the game nodes at a time, so that a lost node does not block the others", async () => {
    const daemonSets = (await render(...values("bundled"))).filter(({ kind }) => kind === "DaemonSet");
    for (const name of ["joypod-node-agent", "joypod-connection-test"]) {
      expect(
        daemonSets.find(({ metadata }) => metadata.name === name)?.spec?.updateStrategy?.rollingUpdate
          ?.maxUnavailable,
        name,
      ).to.equal("25%");
    }
  });

  it("keeps the custom resource definitions on uninstall by default", async () => {
    const annotationsOf = (manifests: Manifest[]): (string | undefined)[] =>
      manifests
        .filter(({ kind }) => kind === "CustomResourceDefinition")
        .map(({ metadata }) => metadata.annotations?.["helm.sh/resource-policy"]);
    expect(annotationsOf(await render(...values("bundled")))).to.deep.equal(["keep", "keep", "keep"]);
    expect(annotationsOf(await render(...values("bundled"), "--set", "crds.keep=false"))).to.deep.equal([
      undefined,
      undefined,
      undefined,
    ]);
    expect(annotationsOf(await render(...values("bundled"), "--set", "crds.install=false"))).to.be.empty;
    // Helm removes what a release has no more, unless it is marked to stay.
    expect(
      await renderingError(...values("bundled"), "--set", "crds.install=false,crds.keep=false"),
    ).to.contain("Upgrade once with crds.keep=true");
  });

  it("migrates in a hook with external stores, and before the API starts with bundled ones", async () => {
    const hooks = (await render(...values("external"))).filter(
      ({ kind, metadata }) => kind === "Job" && metadata.name.startsWith("joypod-migrate-"),
    );
    expect(hooks[0]?.metadata.annotations?.["helm.sh/hook"]).to.equal("pre-install,pre-upgrade");
    const api = (await render(...values("bundled"))).find(
      ({ kind, metadata }) => kind === "Deployment" && metadata.name === "joypod-api",
    );
    expect(api?.spec?.template?.spec.initContainers?.map(({ name }) => name)).to.deep.equal(["migrate"]);
  });

  it("migrates nothing if no API is to run, as during the restore of a backup", async () => {
    for (const args of [
      [...values("external")],
      [...values("external"), "--set", "helmHooks=false"],
      [...values("bundled")],
    ]) {
      const manifests = await render(...args, "--set", "api.replicas=0");
      expect(
        manifests
          .filter(({ kind }) => kind === "Job")
          .map(({ metadata }) => metadata.name)
          .filter((name) => name.includes("migrate")),
        args.join(" "),
      ).to.deep.equal([]);
      expect(
        manifests.find(({ kind, metadata }) => kind === "Deployment" && metadata.name === "joypod-api")?.spec
          ?.replicas,
        args.join(" "),
      ).to.equal(0);
    }
    // Without a number the Deployment has one pod, or as many as an autoscaler wants.
    const unset = await render(...values("external"), "--set", "api.replicas=null");
    expect(
      unset.some(({ kind, metadata }) => kind === "Job" && metadata.name.startsWith("joypod-migrate-")),
      "without a number",
    ).to.equal(true);
  });

  it("gives the API its configured sign-in providers as files that no one else can read", async () => {
    const deploymentOf = async (name: string): Promise<string> =>
      JSON.stringify(
        (await render(...values(name))).find(
          ({ kind, metadata }) => kind === "Deployment" && metadata.name === "joypod-api",
        ),
      );
    const external = await deploymentOf("external");
    expect(external).to.contain('{"name":"AUTH_PROVIDERS_FILE","value":"/etc/joypod/auth/providers.json"}');
    expect(external).to.contain(
      '{"name":"auth-providers","secret":{"secretName":"joypod-providers","defaultMode":288}}',
    );
    expect(external).to.contain('{"name":"SESSION_MAX_SECONDS","value":"15552000"}');
    expect(await deploymentOf("bundled"))
      .to.not.contain("auth-providers")
      .and.not.contain("AUTH_PROVIDERS_FILE");
  });

  it("gives every program a separate port for the kubelet's probes, which do not depend on stores", async () => {
    const manifests = await render(...values("external"));
    for (const [name, port] of [
      ["joypod-api", "metrics"],
      ["joypod-operator", "http"],
    ]) {
      const container = manifests.find(
        ({ kind, metadata }) => kind === "Deployment" && metadata.name === name,
      )?.spec?.template?.spec.containers[0];
      expect(container?.readinessProbe?.httpGet, name).to.deep.equal({ path: "/readyz", port });
      expect(container?.livenessProbe?.httpGet, name).to.deep.equal({ path: "/healthz", port });
    }
  });

  it("refuses evictions of session pods only on request", async () => {
    const budgetsWith = async (...set: string[]) =>
      (await render(...values("bundled"), ...set)).filter(
        ({ kind, metadata }) => kind === "PodDisruptionBudget" && metadata.name === "joypod-sessions",
      );
    expect(await budgetsWith()).to.deep.equal([]);
    const [budget] = await budgetsWith("--set", "sessions.disruptionBudget.enabled=true");
    expect(budget?.metadata.namespace).to.equal("joypod-sessions");
    expect(budget?.spec).to.deep.equal({
      minAvailable: 2_147_483_647,
      selector: {
        matchLabels: {
          "app.kubernetes.io/name": "joypod",
          "app.kubernetes.io/component": "game-session",
        },
      },
    });
  });

  it("runs two replicas of API and operator on different nodes, replaces them half a minute after their node is lost, and allows one disruption at a time", async () => {
    const manifests = await render(
      ...values("bundled"),
      "--values",
      join(repositoryRoot, "tools/platform/placement.yaml"),
    );
    const find = (kind: string, name: string) =>
      manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name)?.spec;
    for (const name of ["joypod-api", "joypod-operator"]) {
      const deployment = find("Deployment", name);
      const pod = deployment?.template?.spec;
      expect(deployment?.replicas, name).to.equal(2);
      expect(find("PodDisruptionBudget", name)?.maxUnavailable, name).to.equal(1);
      expect(
        pod?.topologySpreadConstraints?.map(({ topologyKey }) => topologyKey),
        name,
      ).to.deep.equal(["kubernetes.io/hostname"]);
      for (const key of ["unreachable", "not-ready"]) {
        expect(pod?.tolerations, name).to.deep.include({
          key: `node.kubernetes.io/${key}`,
          operator: "Exists",
          effect: "NoExecute",
          tolerationSeconds: 30,
        });
      }
    }
    const controlPlane = {
      key: "node-role.kubernetes.io/control-plane",
      operator: "Exists",
      effect: "NoSchedule",
    };
    expect(find("Deployment", "joypod-api")?.template?.spec.tolerations).to.deep.include(controlPlane);
    for (const store of ["postgres", "redis", "minio"]) {
      const pod = find("StatefulSet", `joypod-${store}`)?.template?.spec;
      expect(pod?.tolerations, store).to.deep.equal([controlPlane]);
      expect(JSON.stringify(pod?.affinity), store).to.contain("node-role.kubernetes.io/control-plane");
    }
  });

  it("describes the release's tests of game nodes and of policy enforcement", async () => {
    const testsOf = (manifests: Manifest[]): string[] =>
      manifests
        .filter(({ metadata }) => metadata.annotations?.["helm.sh/hook"] === "test")
        .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    const manifests = await render(...values("external"));
    expect(testsOf(manifests)).to.have.members(["Pod joypod-network-test", "Pod joypod-node-test"]);
    const textOf = (name: string): string =>
      JSON.stringify(manifests.find(({ kind, metadata }) => kind === "Pod" && metadata.name === name));
    expect(textOf("joypod-network-test"))
      .to.contain("$(JOYPOD_API_SERVICE_HOST):$(JOYPOD_API_SERVICE_PORT)")
      .and.contain("networkTest.js");
    expect(textOf("joypod-node-test"))
      .to.contain("nodeTest.js")
      .and.contain('"serviceAccountName":"joypod-node-test"');
    const off = await render(...values("external"), "--set", "networkPolicies.enabled=false");
    expect(testsOf(off)).to.deep.equal(["Pod joypod-node-test"]);
    expect(off.filter(({ kind }) => kind === "NetworkPolicy")).to.be.empty;
  });

  guideBlocks("gpu")
    .filter(({ language, text }) => language === "yaml" && /^gpu:/m.test(text))
    .forEach(({ purpose, text }, index) => {
      const names = /^ +(?:resourceName|claim): (\S+)/m.exec(text)?.[1] ?? "nvidia.com/gpu";
      it(`accepts block ${index + 1} of docs/gpu.md's values, for ${purpose === "" ? names : purpose}`, async () => {
        const file = join(temporaryFolder("gpu-values"), "values.yaml");
        await writeFile(file, text);
        const told = environmentOf(
          await render(...values("external"), "--values", file, "--kube-version", "1.34.0"),
          "operator",
        );
        expect([told.GPU_RESOURCE_NAME, told.GPU_CLAIM_TEMPLATE]).to.include(names);
      });
    });

  it("uses the display that a value forces", async () => {
    for (const display of ["auto", "xvfb", "xwayland"]) {
      const told = environmentOf(
        await render(...values("external"), "--set", `gpu.display=${display}`),
        "operator",
      );
      expect(told.DISPLAY_SERVER).to.equal(display);
    }
  });

  it("configures session pods alike for the operator and for the test of game nodes", async () => {
    const manifests = await render(...values("full"));
    const told = environmentOf(manifests, "operator");
    const pod = manifests.find(
      ({ kind, metadata }) => kind === "Pod" && metadata.name === "joypod-node-test",
    );
    const env = pod?.spec?.containers?.[0]?.env ?? [];
    const names = env.map(({ name }) => name);
    expect(names).to.include.members([
      "GPU_RESOURCE_NAME",
      "GPU_TOLERATIONS",
      "STREAMER_IMAGE",
      "SESSION_POD_LABELS",
      "DISPLAY_SERVER",
    ]);
    for (const { name, value } of env) expect(told[name], name).to.equal(value);
  });

  it("gives games internet access only when enabled with all required values", async () => {
    const internet = [...values("bundled"), "--set", "games.network=internet"];
    expect(await renderingError(...internet)).to.contain("internetNameservers");
    const complete = [...internet, "--set", "games.internetNameservers={192.0.2.53}"];
    expect(await renderingError(...complete, "--set", "networkPolicies.enabled=false")).to.contain(
      "set networkPolicies.enabled=true, or games.network=none",
    );
    expect(await renderingError(...complete, "--set", "games.internetNameservers={dns.example}")).to.contain(
      "pattern",
    );
    expect(await renderingError(...complete, "--set", "games.deniedRanges={192.0.2.1}")).to.contain(
      "pattern",
    );
    expect(await renderingError(...values("bundled"), "--set", "games.network=lan")).to.contain(
      "games/network",
    );
    const environmentOf = async (name: string, args: string[]): Promise<string> =>
      JSON.stringify(
        (await render(...args)).find(({ kind, metadata }) => kind === "Deployment" && metadata.name === name),
      );
    for (const name of ["joypod-api", "joypod-operator"]) {
      expect(await environmentOf(name, complete)).to.contain('{"name":"GAME_NETWORK","value":"internet"}');
      expect(await environmentOf(name, values("bundled"))).to.contain(
        '{"name":"GAME_NETWORK","value":"none"}',
      );
    }
    expect(await environmentOf("joypod-operator", complete))
      .to.contain('{"name":"INTERNET_NAMESERVERS","value":"192.0.2.53"}')
      .and.contain('{"name":"PROBE_IMAGE","value":"joypod/control-plane:0.1.0"}');
  });

  it("passes the resources of games to the API, and rejects a default above the maximum", async () => {
    const environmentOf = async (...args: string[]): Promise<string> =>
      JSON.stringify(
        (await render(...values("bundled"), ...args)).find(
          ({ kind, metadata }) => kind === "Deployment" && metadata.name === "joypod-api",
        ),
      );
    expect(await environmentOf())
      .to.contain('{"name":"GAME_MEMORY_MB","value":"1024"}')
      .and.contain('{"name":"GAME_CPUS_MAX","value":"4"}');
    const larger = [
      "--set",
      "games.resources.max.memoryMb=65536",
      "--set",
      "games.resources.default.cpus=1.5",
      "--set",
      "games.resources.max.gpuShare=2",
    ];
    expect(await environmentOf(...larger))
      .to.contain('{"name":"GAME_MEMORY_MB_MAX","value":"65536"}')
      .and.contain('{"name":"GAME_CPUS","value":"1.5"}')
      .and.contain('{"name":"GAME_GPU_SHARE_MAX","value":"2"}');
    expect(await renderingError(...values("bundled"), "--set", "games.resources.max.cpus=0.25")).to.contain(
      "games.resources.default.cpus is above games.resources.max.cpus",
    );
    expect(await renderingError(...values("bundled"), "--set", "games.resources.max.memoryMb=64")).to.contain(
      "minimum",
    );
  });

  it("lets the operator read the pods of all namespaces, unless they are not counted or sessions have a priority class", async () => {
    const counted = async (...args: string[]): Promise<object[] | undefined> =>
      (await render(...values("bundled"), ...args)).find(
        ({ kind, metadata }) =>
          kind === "ClusterRole" && metadata.name === "joypod-joypod-operator-other-pods",
      )?.rules;
    expect(await counted()).to.deep.equal([
      { apiGroups: [""], resources: ["pods"], verbs: ["list", "watch"] },
    ]);
    const off = ["--set", "gameNodes.countOtherPods=false"];
    for (const unused of [
      off,
      ...["sessions.pods.priorityClassName", "operator.env.SESSION_POD_PRIORITY_CLASS"].map((name) => [
        "--set",
        `${name}=games`,
      ]),
    ]) {
      expect(await counted(...unused), unused.join(" ")).to.equal(undefined);
    }
    const operator = (await render(...values("bundled"), ...off)).find(
      ({ kind, metadata }) => kind === "Deployment" && metadata.name === "joypod-operator",
    );
    expect(JSON.stringify(operator)).to.contain('{"name":"COUNT_OTHER_PODS","value":"off"}');
  });

  it("requires the proxies in front of the API if it creates an Ingress", async () => {
    const error = await renderingError(...values("external"), "--set", "api.trustedProxies=0");
    expect(error).to.contain("Set api.trustedProxies to the number of proxies");
    expect(await render(...values("bundled"), "--set", "api.trustedProxies=0")).to.not.be.empty;
  });

  it("preserves client addresses of the API's service if configured", async () => {
    const serviceOf = async (...args: string[]): Promise<unknown> =>
      (await render(...values("bundled"), ...args)).find(
        ({ kind, metadata }) => kind === "Service" && metadata.name === "joypod-api",
      )?.spec;
    const local = ["--set", "api.service.externalTrafficPolicy=Local"];
    expect(await serviceOf("--set", "api.service.type=LoadBalancer", ...local)).to.include({
      type: "LoadBalancer",
      externalTrafficPolicy: "Local",
    });
    expect(await serviceOf("--set", "api.service.type=NodePort")).to.not.have.property(
      "externalTrafficPolicy",
    );
    expect(await renderingError(...values("bundled"), ...local)).to.contain(
      "set api.service.type to NodePort or LoadBalancer",
    );
    expect(
      await renderingError(...values("bundled"), "--set", "api.service.externalTrafficPolicy=Global"),
    ).to.contain("externalTrafficPolicy");
  });

  it("passes the maximum picture quality to the API if it is set", async () => {
    const maximaOf = async (...args: string[]): Promise<Record<string, string>> => {
      const api = (await render(...values("bundled"), ...args)).find(
        ({ kind, metadata }) => kind === "Deployment" && metadata.name === "joypod-api",
      );
      const variables = [...JSON.stringify(api?.spec).matchAll(/"name":"(STREAM_MAX_\w+)","value":"(\w+)"/g)];
      return Object.fromEntries(variables.map(([, name = "", value = ""]) => [name, value]));
    };
    expect(await maximaOf()).to.deep.equal({});
    expect(
      await maximaOf(
        "--set",
        "stream.maxWidth=2560,stream.maxHeight=1440,stream.maxFps=120,stream.maxKbps=30000",
      ),
    ).to.deep.equal({
      STREAM_MAX_WIDTH: "2560",
      STREAM_MAX_HEIGHT: "1440",
      STREAM_MAX_FRAMES_PER_SECOND: "120",
      STREAM_MAX_BITRATE_KBPS: "30000",
    });
    expect(await renderingError(...values("bundled"), "--set", "stream.maxFps=240")).to.contain("maxFps");
  });

  it("passes the codecs to the API in order, and rejects a list without one that every node encodes", async () => {
    const codecsOf = async (...args: string[]): Promise<string | undefined> => {
      const api = (await render(...values("bundled"), ...args)).find(
        ({ kind, metadata }) => kind === "Deployment" && metadata.name === "joypod-api",
      );
      return /"name":"STREAM_CODECS","value":"([\w,]+)"/.exec(JSON.stringify(api?.spec))?.[1];
    };
    expect(await codecsOf()).to.equal("H264,VP8");
    expect(
      await codecsOf("--set", "stream.codecs=null"),
      "with the values of a release before codecs could be chosen",
    ).to.equal("H264,VP8");
    expect(await codecsOf("--set", "stream.codecs={AV1,H265,H264,VP8}")).to.equal("AV1,H265,H264,VP8");
    for (const wrong of ["{AV1,H265}", "{H264,H264}", "{VP9,H264}"]) {
      expect(await renderingError(...values("bundled"), "--set", `stream.codecs=${wrong}`), wrong).to.contain(
        "/stream/codecs",
      );
    }
  });

  it("rejects invalid values, with a message about what to do", async () => {
    expect(await renderingError()).to.contain("postgres.existingSecret is empty");
    expect(await renderingError(...values("bundled"), "--set", "media.portFirst=80")).to.contain("minimum");
    expect(await renderingError(...values("bundled"), "--set", "media.portFirst=30000")).to.contain(
      "above media.portLast",
    );
    expect(await renderingError(...values("bundled"), "--set", "api.replica=2")).to.match(
      /additional propert/i,
    );
    expect(await renderingError(...values("bundled"), "--set", "api.baseUrl=play.example.com")).to.contain(
      "pattern",
    );
  });
});
