import { expect } from "chai";
import {
  environmentOf,
  render,
  renderingError,
  values,
  type Manifest,
  type PodSpec,
} from "#test/support/chart/helmTemplate.ts";
import { podsOf } from "#test/support/chart/programEnvironments.ts";

describe("the chart's values of workloads and exposure", () => {
  const pods = (
    manifests: Manifest[],
  ): [string, PodSpec & { priorityClassName?: string; securityContext?: { seLinuxOptions?: object } }][] =>
    manifests.flatMap(({ kind, metadata, spec }) =>
      spec?.template ? [[`${kind} ${metadata.name.replace(/-[0-9a-f]{8}$/, "")}`, spec.template.spec]] : [],
    );

  it("gives each pod the configured priority class, and none a system one", async () => {
    expect(
      pods(await render(...values("bundled"))).filter(
        ([, { priorityClassName }]) => priorityClassName !== undefined,
      ),
    ).to.deep.equal([]);
    const workloads = [
      "api",
      "operator",
      "nodeAgent",
      "connectionTest",
      "turn",
      "prePull",
      "stores.postgres",
      "stores.redis",
      "stores.minio",
      "jobs",
    ];
    const told = await render(
      ...values("bundled"),
      "--set",
      `turn.enabled=true,turn.host=turn.example.com,${workloads.map((name) => `${name}.priorityClassName=class-of-${name.replace(/.*\./, "").toLowerCase()}`).join(",")}`,
    );
    expect(
      Object.fromEntries(pods(told).map(([name, { priorityClassName }]) => [name, priorityClassName])),
    ).to.deep.equal({
      "Deployment joypod-api": "class-of-api",
      "Deployment joypod-operator": "class-of-operator",
      "Deployment joypod-turn": "class-of-turn",
      "DaemonSet joypod-node-agent": "class-of-nodeagent",
      "DaemonSet joypod-connection-test": "class-of-connectiontest",
      "DaemonSet joypod-pre-pull": "class-of-prepull",
      "StatefulSet joypod-postgres": "class-of-postgres",
      "StatefulSet joypod-redis": "class-of-redis",
      "StatefulSet joypod-minio": "class-of-minio",
      "Job joypod-drain": "class-of-jobs",
      "Job joypod-make-secrets": "class-of-jobs",
      "Job joypod-store-keys": "class-of-jobs",
    });
  });

  it("gives node agents the configured SELinux label, and sets none by default", async () => {
    const labelled = async (...args: string[]) =>
      pods(await render(...values("bundled"), ...args)).flatMap(([name, { securityContext }]) =>
        securityContext?.seLinuxOptions ? [[name, securityContext.seLinuxOptions]] : [],
      );
    expect(await labelled()).to.deep.equal([]);
    expect(await labelled("--set", "nodeAgent.seLinuxOptions.level=s0-s0:c0.c1023")).to.deep.equal([
      ["DaemonSet joypod-node-agent", { level: "s0-s0:c0.c1023" }],
    ]);
  });

  it("renders the same with values of an earlier release, which lack newer values", async () => {
    const unknown = [
      "jobs",
      "sessions.pods",
      "api.httpRoute",
      "api.ingress.controller",
      "api.serviceAccount",
      "api.service.annotations",
      "stores.postgres",
      "stores.redis",
      "stores.minio",
      "commonLabels",
      "connectionTest.service",
      "nodeAgent.priorityClassName",
      "nodeAgent.seLinuxOptions",
      "operator.podLabels",
      "operator.tolerations",
      "turn",
    ]
      .map((name) => `${name}=null`)
      .join(",");
    // A job is another one by other values.
    const rendered = async (...args: string[]): Promise<string> =>
      JSON.stringify(await render(...values("bundled"), ...args)).replaceAll(
        /(?<=joypod-(?:drain|make-secrets|store-keys)-)[0-9a-f]{8}/g,
        "",
      );
    expect(await rendered("--set", unknown)).to.equal(await rendered());
  });

  describe("of jobs that do not run as a Job", () => {
    const memory = "1Gi";
    const volumeOf = (name: string): string =>
      `${name}.extraVolumes[0].name=of-${name},${name}.extraVolumeMounts[0].name=of-${name},${name}.extraVolumeMounts[0].mountPath=/of-${name}`;
    const settings = [
      "--set",
      `jobs.resources.limits.memory=${memory},postgres.caSecret=postgres-ca,${volumeOf("jobs")},${volumeOf("api")}`,
    ];

    it("apply their resources to the migration container in the API's pod, with that pod's volumes", async () => {
      const manifests = await render(...values("external"), ...settings, "--set", "helmHooks=false");
      const [migrate] =
        pods(manifests).find(([name]) => name === "Deployment joypod-api")?.[1].initContainers ?? [];
      expect(migrate?.resources).to.deep.equal({ limits: { memory } });
      expect(migrate?.volumeMounts?.map(({ mountPath }) => mountPath)).to.deep.equal([
        "/etc/joypod/stores/postgres",
        "/of-api",
      ]);
    });

    it("apply their resources and volumes to the pods of helm test", async () => {
      const tests = podsOf(
        (await render(...values("external"), ...settings)).filter(({ kind }) => kind === "Pod"),
      );
      expect(tests.map(({ containers }) => containers.map(({ name }) => name))).to.have.deep.members([
        ["network-test"],
        ["node-test"],
      ]);
      for (const {
        containers: [container],
        volumes,
      } of tests) {
        expect(container?.resources, container?.name).to.deep.equal({ limits: { memory } });
        expect([container?.volumeMounts, volumes], container?.name).to.deep.equal([
          [{ name: "of-jobs", mountPath: "/of-jobs" }],
          [{ name: "of-jobs" }],
        ]);
      }
    });
  });

  it("passes the settings of session pods to the operator, and omits unset ones", async () => {
    const told = environmentOf(await render(...values("full")), "operator");
    expect(told).to.include({
      SESSION_POD_LABELS: '{"cost-center":"play"}',
      SESSION_POD_ANNOTATIONS: '{"example.com/owner":"games"}',
      SESSION_POD_NODE_SELECTOR: '{"pool":"games"}',
      SESSION_POD_PRIORITY_CLASS: "joypod-sample",
      GPU_TOLERATIONS: '[{"effect":"NoSchedule","key":"games","operator":"Equal","value":"yes"}]',
    });
    expect(environmentOf(await render(...values("bundled")), "operator")).to.not.have.any.keys(
      "SESSION_POD_LABELS",
      "SESSION_POD_PRIORITY_CLASS",
      "SESSION_RUNTIME_CLASS",
    );
  });

  it("adds Ingress annotations for archives and event streams, which values override, and disables a Gateway's timeouts", async () => {
    const full = await render(
      ...values("full"),
      "--set-string",
      "api.ingress.annotations.nginx\\.ingress\\.kubernetes\\.io/proxy-read-timeout=60",
    );
    expect(full.find(({ kind }) => kind === "Ingress")?.metadata.annotations).to.deep.equal({
      "cert-manager.io/cluster-issuer": "letsencrypt",
      "nginx.ingress.kubernetes.io/proxy-body-size": "0",
      "nginx.ingress.kubernetes.io/proxy-request-buffering": "off",
      "nginx.ingress.kubernetes.io/proxy-buffering": "off",
      "nginx.ingress.kubernetes.io/proxy-read-timeout": "60",
      "nginx.ingress.kubernetes.io/proxy-send-timeout": "300",
    });
    const route = full.find(({ kind }) => kind === "HTTPRoute");
    expect(route?.spec).to.deep.equal({
      parentRefs: [{ name: "public", namespace: "gateways", sectionName: "https" }],
      hostnames: ["play.example.com"],
      rules: [
        {
          matches: [{ path: { type: "PathPrefix", value: "/" } }],
          backendRefs: [{ name: "joypod-api", port: 80 }],
          timeouts: { request: "0s", backendRequest: "0s" },
        },
      ],
    });
  });

  it("accepts environment variables of programs that no value sets", async () => {
    const variables =
      "api.env.DATABASE_POOL_SIZE=20,operator.env.HEARTBEAT_STALE_SECONDS=40,connectionTest.env.MAX_TESTS=2";
    const further = await render(...values("bundled"), "--set-string", variables);
    expect(environmentOf(further, "api")).to.include({ DATABASE_POOL_SIZE: "20" });
    expect(environmentOf(further, "operator")).to.include({ HEARTBEAT_STALE_SECONDS: "40" });
  });

  const contradictions: [string, string, string][] = [
    [
      "a label that policies select by",
      "api.podLabels.app\\.kubernetes\\.io/component=redis",
      "api.podLabels: app.kubernetes.io/component is used by Joypod",
    ],
    [
      "a label that opens the network to sessions",
      "sessions.pods.labels.joypod\\.dev/network=internet",
      "sessions.pods.labels: joypod.dev/network is used by Joypod",
    ],
    [
      "a label that changes a namespace's profile",
      "commonLabels.pod-security\\.kubernetes\\.io/enforce=privileged",
      "commonLabels: pod-security.kubernetes.io/enforce is",
    ],
    [
      "an annotation that loosens a session's container",
      "sessions.pods.annotations.container\\.apparmor\\.security\\.beta\\.kubernetes\\.io/game=unconfined",
      "remove it",
    ],
    [
      "an annotation that lets Karpenter end sessions",
      "sessions.pods.annotations.karpenter\\.sh/do-not-disrupt=no",
      "sessions.pods.annotations: karpenter.sh/do-not-disrupt is",
    ],
    [
      "the system's priority for sessions",
      "sessions.pods.priorityClassName=system-node-critical",
      "/sessions/pods/priorityClassName",
    ],
    [
      "two runtime classes of session pods",
      "gpu.runtimeClassName=nvidia,sessions.pods.runtimeClassName=gvisor",
      "a pod has only one",
    ],
    [
      "a priority of sessions said twice",
      "sessions.pods.priorityClassName=a,operator.env.SESSION_POD_PRIORITY_CLASS=b",
      "set the same thing",
    ],
    [
      "a variable that the chart sets",
      "api.env.LOG_LEVEL=debug",
      "api.env: LOG_LEVEL is set by the chart: set the value",
    ],
    [
      "a variable that the chart takes of a secret",
      "api.env.DATABASE_URL=postgres://x",
      "api.env: DATABASE_URL is set by the chart",
    ],
    [
      "a variable of session pods that the chart sets",
      "operator.env.SESSIONS_NAMESPACE=x",
      "operator.env: SESSIONS_NAMESPACE is set by the chart",
    ],
    [
      "a variable of node agents that the chart sets",
      "nodeAgent.env.NODE_ROOT=/x",
      "nodeAgent.env: NODE_ROOT is set by the chart",
    ],
    [
      "a mount of no volume",
      "api.extraVolumeMounts[0].name=ca,api.extraVolumeMounts[0].mountPath=/ca",
      "not in api.extraVolumes: add it there",
    ],
    ["a volume of Joypod's own name", "api.extraVolumes[0].name=tmp", "/api/extraVolumes/0/name"],
    [
      "a port of the nodes for a Service without one",
      "api.service.nodePort=30080",
      "set api.service.type to NodePort",
    ],
    [
      "a class of load balancers without one",
      "api.service.type=NodePort,api.service.loadBalancerClass=a/b",
      "set api.service.type to LoadBalancer",
    ],
    [
      "a route that belongs to no Gateway",
      "api.httpRoute.enabled=true,api.trustedProxies=1",
      "/api/httpRoute/parentRefs",
    ],
    [
      "a part of a request that lasts longer than it",
      "api.httpRoute.timeouts.request=1m,api.httpRoute.timeouts.backendRequest=61s",
      "make it shorter",
    ],
    [
      "a Gateway whose clients all look like one",
      "api.httpRoute.enabled=true,api.httpRoute.parentRefs[0].name=public",
      "Set api.trustedProxies to the number of proxies",
    ],
  ];
  for (const [what, set, message] of contradictions) {
    it(`refuses ${what}`, async () =>
      expect(await renderingError(...values("bundled"), "--set", set)).to.contain(message));
  }
});
