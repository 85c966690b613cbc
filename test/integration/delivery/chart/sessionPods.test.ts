import { expect } from "chai";
import type { GameSessionSpec } from "#contracts/crd/gameSessionSpec.ts";
import { isNotFound } from "#kube/api/errors.ts";
import type { KubeRequest } from "#kube/client/request.ts";
import type { KubeTransport } from "#kube/client/transport.ts";
import { readConfig } from "#operator/config.ts";
import { buildPod } from "#operator/controllers/gameSession/pod.ts";
import { buildNodeTestPod } from "#operator/nodeTest/testNode.ts";
import { buildProbePod } from "#operator/networkProbe/probePod.ts";
import { aGameSession } from "#test/factories/gameSession.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { InstalledChart } from "#test/support/fixtures/installedChart.ts";

const images = {
  STREAMER_IMAGE: "localhost:5000/joypod/streamer:0.0.9",
  GAME_IMAGE: `joypod/game:0.1.0@sha256:${"a".repeat(64)}`,
  PROBE_IMAGE: "joypod/control-plane:0.1.0",
  IMAGE_PULL_SECRETS: "pull",
};
const config = readConfig({
  ...images,
  GAME_NETWORK: "internet",
  INTERNET_NAMESERVERS: "192.0.2.53",
  POD_IP: "10.0.0.9",
});
const gpuConfigs = [
  { GPU_STREAMER_COUNT: "1", GPU_GROUPS: "44,105" },
  { GPU_CLAIM_TEMPLATE: "one-gpu", GPU_TOLERATIONS: '[{"operator":"Exists"}]' },
].map((environment) => readConfig({ ...images, ...environment }));
/** What the values may add to session pods. */
const addedConfig = readConfig({
  ...images,
  SESSION_POD_LABELS: '{"team":"games"}',
  SESSION_POD_ANNOTATIONS: '{"sidecar.example.com/inject":"true"}',
  SESSION_POD_NODE_SELECTOR: '{"pool":"new"}',
  GPU_TOLERATIONS: '[{"operator":"Exists"}]',
});
const contentPath = `/var/lib/joypod/v1/objects/${"f".repeat(64)}/content`;

/** Values by their place in the pod. */
type Changes = Record<string, unknown>;

const streamer = "spec.initContainers.0";
const game = "spec.containers.0";
const otherVolume = (source: object): Changes => ({ "spec.volumes.9": { name: "other", ...source } });

/** What each rule's message says, and pods that it refuses, by what was changed of the operator's. */
const refused: Record<string, Changes[]> = {
  "only UDP host ports 20000 to 20999": [
    { [`${game}.ports.0.hostPort`]: 22 },
    { [`${game}.ports.0.hostPort`]: 19_999 },
    { [`${game}.ports.0.hostPort`]: 21_000 },
    { [`${game}.ports.0.protocol`]: "TCP" },
    { [`${streamer}.ports.0.hostPort`]: 8080 },
  ],
  "only emptyDir and hostPath volumes": [
    otherVolume({ secret: { secretName: "joypod-s3" } }),
    {
      ...otherVolume({
        projected: { sources: [{ serviceAccountToken: { path: "token", expirationSeconds: 3600 } }] },
      }),
      "spec.serviceAccountName": "default",
    },
    otherVolume({ persistentVolumeClaim: { claimName: "data" } }),
    otherVolume({ csi: { driver: "example.com" } }),
    otherVolume({ image: { reference: "joypod/game" } }),
  ],
  "mount only game content and its own session folder": [
    otherVolume({ hostPath: { path: "/etc" } }),
    otherVolume({ hostPath: { path: "/var/lib/joypod" } }),
    otherVolume({ hostPath: { path: "/var/lib/joypod/v1/sessions/gs-other" } }),
    otherVolume({ hostPath: { path: "/var/lib/joypod/v1/sessions/gs-one/save" } }),
    otherVolume({ hostPath: { path: `${contentPath}/engine` } }),
    otherVolume({ hostPath: { path: `/mnt${contentPath}` } }),
  ],
  "mount game content read-only": [
    { [`${game}.volumeMounts.4.readOnly`]: false },
    { [`${streamer}.volumeMounts.6`]: { name: "game", mountPath: "/game" } },
  ],
  "must not propagate mounts": [
    { [`${game}.volumeMounts.4.mountPropagation`]: "HostToContainer" },
    { [`${streamer}.volumeMounts.1.mountPropagation`]: "HostToContainer" },
  ],
  "(hostNetwork)": [{ "spec.hostNetwork": true }],
  "(hostPID)": [{ "spec.hostPID": true }],
  "(hostIPC)": [{ "spec.hostIPC": true }],
  "(shareProcessNamespace)": [{ "spec.shareProcessNamespace": true }],
  "not get a service account token": [
    { "spec.automountServiceAccountToken": true },
    { "spec.automountServiceAccountToken": undefined },
  ],
  "set its runAsNonRoot to true": [
    { "spec.securityContext.runAsNonRoot": false },
    { "spec.securityContext": undefined },
  ],
  "must not set runAsNonRoot to false": [
    { [`${game}.securityContext.runAsNonRoot`]: false },
    { [`${streamer}.securityContext.runAsNonRoot`]: false },
  ],
  "as user 0": [
    { "spec.securityContext.runAsUser": 0 },
    { [`${game}.securityContext.runAsUser`]: 0 },
    { [`${streamer}.securityContext.runAsUser`]: 0 },
  ],
  "in group 0": [
    { "spec.securityContext.runAsGroup": 0 },
    { "spec.securityContext.fsGroup": 0 },
    { "spec.securityContext.supplementalGroups": [10_001, 0] },
    { [`${game}.securityContext.runAsGroup`]: 0 },
  ],
  "must not be privileged": [
    {
      [`${game}.securityContext.privileged`]: true,
      [`${game}.securityContext.allowPrivilegeEscalation`]: true,
    },
  ],
  "must not gain privileges": [
    { [`${game}.securityContext.allowPrivilegeEscalation`]: true },
    { [`${streamer}.securityContext.allowPrivilegeEscalation`]: undefined },
  ],
  "must drop all capabilities": [
    { [`${game}.securityContext.capabilities.drop`]: ["NET_RAW"] },
    { [`${streamer}.securityContext.capabilities`]: undefined },
  ],
  "must not add capabilities": [
    { [`${game}.securityContext.capabilities.add`]: ["NET_BIND_SERVICE"] },
    { [`${streamer}.securityContext.capabilities.add`]: ["SYS_ADMIN"] },
  ],
  "seccomp profile of a session pod must be RuntimeDefault": [
    { "spec.securityContext.seccompProfile.type": "Unconfined" },
    { "spec.securityContext.seccompProfile": undefined },
  ],
  "seccomp profile of a session pod's container must be RuntimeDefault": [
    { [`${game}.securityContext.seccompProfile`]: { type: "Unconfined" } },
    { [`${streamer}.securityContext.seccompProfile`]: { type: "Localhost", localhostProfile: "loose.json" } },
  ],
  "AppArmor profile of a session pod must not be Unconfined": [
    { "spec.securityContext.appArmorProfile": { type: "Unconfined" } },
    { [`${game}.securityContext.appArmorProfile`]: { type: "Unconfined" } },
    { "metadata.annotations": { "container.apparmor.security.beta.kubernetes.io/game": "unconfined" } },
  ],
  "(seLinuxOptions)": [
    { "spec.securityContext.seLinuxOptions": { type: "spc_t" } },
    { [`${game}.securityContext.seLinuxOptions`]: { type: "spc_t" } },
  ],
  "(procMount)": [{ "spec.hostUsers": false, [`${game}.securityContext.procMount`]: "Unmasked" }],
  "(sysctls)": [{ "spec.securityContext.sysctls": [{ name: "kernel.shm_rmid_forced", value: "0" }] }],
  "runs only images of the repositories": [
    { [`${game}.image`]: "joypod/elsewhere:0.1.0" },
    { [`${game}.image`]: "registry.example.com/joypod/game:0.1.0" },
    { [`${game}.image`]: "joypod/game:5000/elsewhere:0.1.0" },
    { [`${game}.image`]: "elsewhere/joypod/game:0.1.0" },
    { [`${streamer}.image`]: "localhost:5000/joypod/streamer-elsewhere" },
    { [`${streamer}.image`]: "joypod/streamer:0.0.9" },
  ],
};

/** Roles that a cluster might give out, so that what is refused is refused by the policies. */
const doorRules = [
  {
    apiGroups: [""],
    resources: ["pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "pods/ephemeralcontainers"],
    verbs: ["get", "create", "patch"],
  },
];

function sessionPod(
  changes: Changes = {},
  spec: Partial<GameSessionSpec> = {},
  { sessionPod: podConfig } = config,
): object {
  const session = aGameSession({ metadata: { name: "gs-one" }, spec });
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    ...buildPod(
      session,
      { nodeName: "node-a", mediaPort: 20_000, addresses: ["192.0.2.1"], operatorPublicKey: "A".repeat(43) },
      podConfig,
    ),
  };
  return Object.entries(changes).reduce<object>(
    (changed, [path, value]) => withValue(changed, path.split("."), value),
    pod,
  );
}

/** Returns a copy of the object with the value at that place. */
function withValue(object: object, [name = "", ...rest]: string[], value: unknown): object {
  const inner: unknown = Object.entries(object).find(([key]) => key === name)?.[1];
  const changed =
    rest.length === 0
      ? value
      : withValue(typeof inner === "object" && inner !== null ? inner : {}, rest, value);
  const copy = Object.fromEntries([
    ...Object.entries(object).filter(([key]) => key !== name),
    [name, changed],
  ]);
  return Array.isArray(object) ? Object.values(copy) : copy;
}

describe("the chart's policies for session pods", function () {
  this.timeout(90_000);
  let chart: InstalledChart;
  let operator: KubeTransport;
  let supportNamespace: string;

  const podPath = (name = ""): string => `/api/v1/namespaces/${chart.sessionsNamespace}/pods${name}`;
  const createPod = (body: object): KubeRequest => ({
    method: "POST",
    path: podPath(),
    query: { dryRun: "All" },
    body: withValue(
      withValue(body, ["metadata", "namespace"], chart.sessionsNamespace),
      ["metadata", "ownerReferences"],
      [],
    ),
  });
  const patchPod = (name: string, body: object): KubeRequest => ({
    method: "PATCH",
    path: podPath(name),
    contentType: "application/strategic-merge-patch+json",
    body,
  });

  before(async () => {
    supportNamespace = await (await sharedKubeApiServer()).createNamespace("support");
    const values = {
      "images.streamer": "localhost:5000/joypod/streamer",
      "images.controlPlane": `joypod/control-plane@sha256:${"b".repeat(64)}`,
      "security.imageRepositories": "{registry.example.com:5000/joypod/game}",
      "security.execGroups": `{system:masters,system:serviceaccounts:${supportNamespace}}`,
    };
    chart = await InstalledChart.install(values, async ({ server, sessionsNamespace }) => {
      const former = withValue(
        withValue(
          sessionPod({ [`${game}.image`]: "joypod/former:0.0.1" }),
          ["metadata", "namespace"],
          sessionsNamespace,
        ),
        ["metadata", "name"],
        "gs-former",
      );
      await server.admin.request({
        method: "POST",
        path: `/api/v1/namespaces/${sessionsNamespace}/pods`,
        body: former,
      });
    });
    operator = await chart.account("operator", doorRules);
  });

  it("accept the pods that the operator creates", async () => {
    for (const spec of [{}, { profile: "Gpu" }, { network: "Internet" }] as const) {
      expect(await chart.errorOf(operator, createPod(sessionPod({}, spec)))).to.equal(undefined);
    }
    for (const gpuConfig of gpuConfigs)
      expect(
        await chart.errorOf(operator, createPod(sessionPod({}, { profile: "Gpu" }, gpuConfig))),
      ).to.equal(undefined);
    expect(
      await chart.errorOf(operator, createPod(sessionPod({}, {}, addedConfig))),
      "with what the values add",
    ).to.equal(undefined);
    expect(
      await chart.errorOf(
        operator,
        createPod(sessionPod({ [`${game}.image`]: "registry.example.com:5000/joypod/game:0.0.1" })),
      ),
    ).to.equal(undefined);
    expect(
      await chart.errorOf(
        operator,
        createPod(
          sessionPod({ [`${game}.ports.0.hostPort`]: 20_999, [`${game}.ports.0.containerPort`]: 20_999 }),
        ),
      ),
    ).to.equal(undefined);
  });

  it("have the same restrictions for pods with additional labels, annotations and tolerations", async () => {
    for (const changes of [
      { "spec.hostNetwork": true },
      otherVolume({ hostPath: { path: "/etc" } }),
      { [`${game}.image`]: "joypod/elsewhere:0.1.0" },
    ]) {
      expect(
        await chart.errorOf(operator, createPod(sessionPod(changes, {}, addedConfig))),
        Object.keys(changes).join(" "),
      ).to.be.a("string");
    }
  });

  it("accept the operator's probe pods", async () => {
    for (const role of ["control", "covered"] as const) {
      const pod = buildProbePod(role, chart.sessionsNamespace, config.networkProbe!, []);
      expect(
        await chart.errorOf(operator, createPod({ apiVersion: "v1", kind: "Pod", ...pod })),
        role,
      ).to.equal(undefined);
    }
  });

  it("accept the pods that helm test starts on game nodes", async () => {
    const tester = await chart.account("node-test");
    for (const { sessionPod: podConfig } of [config, addedConfig, ...gpuConfigs]) {
      const pod = buildNodeTestPod("node1", chart.sessionsNamespace, podConfig);
      expect(await chart.errorOf(tester, createPod({ apiVersion: "v1", kind: "Pod", ...pod }))).to.equal(
        undefined,
      );
    }
  });

  for (const [message, cases] of Object.entries(refused)) {
    it(`reject, also for the operator, with: ${message}`, async () => {
      for (const changes of cases) {
        expect(await chart.errorOf(operator, createPod(sessionPod(changes))), JSON.stringify(changes))
          .to.match(/denied request: (a|the) [a-zA-Z ]*session pod/)
          .and.contain(message);
      }
    });
  }

  it("let a pod with an image of a former repository end, and no pod get another image", async () => {
    expect(
      await chart.errorOf(operator, patchPod("/gs-former", { metadata: { finalizers: null } })),
    ).to.equal(undefined);
    const otherImage = (image: string): object => ({ spec: { containers: [{ name: "game", image }] } });
    expect(
      await chart.errorOf(operator, patchPod("/gs-former", otherImage("joypod/elsewhere:0.1.0"))),
    ).to.contain("and not joypod/elsewhere:0.1.0");
    expect(await chart.errorOf(operator, patchPod("/gs-former", otherImage("joypod/game:0.2.0")))).to.equal(
      undefined,
    );
  });

  it("let only the configured groups into a session pod", async () => {
    const support = (
      await chart.server.asServiceAccount({ namespace: supportNamespace, name: "support" }, doorRules)
    ).transport;
    const doors: Record<string, KubeRequest> = {
      exec: { method: "POST", path: podPath("/gs-none/exec"), query: { command: "id", stdout: true } },
      attach: { method: "POST", path: podPath("/gs-none/attach"), query: { stdout: true } },
      portforward: { method: "POST", path: podPath("/gs-none/portforward") },
      proxy: { method: "GET", path: podPath("/gs-none:8080/proxy/status") },
    };
    for (const [door, request] of Object.entries(doors)) {
      expect(await chart.errorOf(operator, request), door).to.contain(
        `${door} into a session pod is only for the groups of security.execGroups`,
      );
      for (const transport of [chart.server.admin, support]) {
        const error = await chart.errorOf(transport, request).catch((failure: unknown) => failure);
        expect(isNotFound(error), `${door}: ${String(error)}`).to.equal(true);
      }
    }
  });

  it("let nobody add ephemeral containers", async () => {
    const body = { spec: { ephemeralContainers: [{ name: "debugger", image: "joypod/game:0.1.0" }] } };
    for (const transport of [operator, chart.server.admin]) {
      expect(await chart.errorOf(transport, patchPod("/gs-former/ephemeralcontainers", body))).to.contain(
        "a session pod must not get ephemeral containers",
      );
    }
  });
});
