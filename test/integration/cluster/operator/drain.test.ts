import { expect } from "chai";
import { finalizers } from "#contracts/crd/names.ts";
import { isForbidden, isNotFound } from "#kube/api/errors.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { KubeTransport } from "#kube/client/transport.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { silentLogger, type LogLine } from "#runtime/logger.ts";
import { drainRelease } from "#operator/drain/drainRelease.ts";
import { clusterRules, releaseNamespaceRules, sessionsNamespaceRules } from "#operator/drain/rbac.ts";
import { pods as podType } from "#kube/api/builtin.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { FaultyApi } from "#test/support/cluster/faultyApi.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";

const release = "drained";
const jobNameOf = (manager: string): string => `${release}-drain-${manager}`;

describe("drainRelease", function () {
  this.timeout(90_000);
  let fixture: OperatorFixture;
  let transport: KubeTransport;

  beforeEach(async () => {
    fixture = await OperatorFixture.start();
    transport = await drainTransport(fixture.namespace);
  });
  afterEach(async () => {
    await fixture.clear(); // First, because nodes are cluster-wide and there may be no transport.
    await transport.close();
  });

  /**
   * Drains like the chart's Job, with its rights. The fixture's namespace serves as both of the release's.
   */
  async function drain(
    drainSeconds: number,
    {
      jobName,
      deployments = [`${release}-api`, `${release}-operator`],
      signal = new AbortController().signal,
      over = transport,
    }: { jobName?: string; deployments?: string[]; signal?: AbortSignal; over?: KubeTransport } = {},
  ): Promise<string[]> {
    const sentences: string[] = [];
    const note: LogLine = (_, sentence) => void sentences.push(sentence);
    const config = {
      sessionsNamespace: fixture.namespace,
      releaseNamespace: fixture.namespace,
      deployments,
      drainSeconds,
      jobName,
    };
    await drainRelease({
      transport: over,
      config,
      clock: systemClock,
      logger: { ...silentLogger, info: note, warn: note },
      signal,
    });
    return sentences;
  }

  it("ends sessions like a deletion, and accepts new ones again at its end", async () => {
    await fixture.startOperator();
    const {
      metadata: { name },
    } = await fixture.launch();
    await fixture.session(name, ({ status }) => status?.phase === "Running", "running session");
    const sentences = await drain(30);
    expect(sentences).to.include("All game sessions have ended.");
    expect(await fixture.sessions.find({ name, namespace: fixture.namespace })).to.equal(undefined);
    await launchesAgain();
  });

  it("does nothing if its Job was applied with the chart, and drains if Helm created it", async () => {
    await fixture.startOperator();
    const {
      metadata: { name },
    } = await fixture.launch();
    await fixture.session(name, ({ status }) => status?.phase === "Running", "running session");
    const { admin } = await sharedKubeApiServer();
    const makeJob = (fieldManager: string): Promise<unknown> =>
      admin.request({
        method: "PATCH",
        path: `/apis/batch/v1/namespaces/${fixture.namespace}/jobs/${jobNameOf(fieldManager)}`,
        query: { fieldManager, force: true },
        contentType: "application/apply-patch+yaml",
        body: {
          apiVersion: "batch/v1",
          kind: "Job",
          metadata: { name: jobNameOf(fieldManager) },
          spec: {
            template: { spec: { restartPolicy: "Never", containers: [{ name: "drain", image: "drain" }] } },
          },
        },
      });
    for (const manager of ["kubectl", "helm"]) await makeJob(manager);
    expect(await drain(30, { jobName: jobNameOf("kubectl") })).to.deep.equal([
      "This Job was applied with the chart's manifests and not started by an uninstall, so nothing is drained. See uninstall.drainNow.",
    ]);
    expect(
      (await fixture.sessions.get({ name, namespace: fixture.namespace })).metadata.deletionTimestamp,
    ).to.equal(undefined);
    expect(await drain(30, { jobName: jobNameOf("helm") })).to.include("All game sessions have ended.");
  });

  it("refuses new sessions while it waits", async () => {
    fixture.components.behaviour.isRecorderUnavailable = true;
    await fixture.launch();
    const stopping = new AbortController();
    const draining = drain(60, { signal: stopping.signal }).then(
      () => undefined,
      (error: unknown) => error,
    );
    await eventually(() => activateQuota(fixture.namespace), { what: "the quota" });
    await eventually(
      async () =>
        isForbidden(
          await fixture.launch().then(
            () => undefined,
            (error: unknown) => error,
          ),
        ),
      { what: "a launch to be refused" },
    );
    stopping.abort(new Error("seen"));
    expect(await draining).to.match(/seen/);
    await launchesAgain();
  });

  /** An API server refuses sessions until it has observed the quota's deletion. */
  const launchesAgain = (): Promise<unknown> =>
    eventually(() => fixture.launch(), { what: "new sessions to be let in" });

  async function quotas(): Promise<unknown[]> {
    const { admin } = await sharedKubeApiServer();
    const { items } = (await admin.request({
      method: "GET",
      path: `/api/v1/namespaces/${fixture.namespace}/resourcequotas`,
    })) as { items: unknown[] };
    return items;
  }

  it("accepts new sessions again when it fails", async () => {
    const failure: unknown = await drain(1, { deployments: ["of-another-release"] }).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(isForbidden(failure)).to.equal(true);
    expect(await quotas()).to.deep.equal([]);
  });

  it("accepts new sessions again when its pod is terminated early", async () => {
    await fixture.launch();
    const stopping = new AbortController();
    const drained = drain(60, { signal: stopping.signal }).then(
      () => undefined,
      (error: unknown) => error,
    );
    await eventually(async () => (await quotas()).length === 1, { what: "no new sessions" });
    stopping.abort(new Error("told to end"));
    expect(await drained).to.match(/told to end/);
    expect(await quotas()).to.deep.equal([]);
  });

  it("releases the remaining sessions, caches and pods", async () => {
    await fixture.startOperator();
    await fixture.createCache("kept");
    const {
      metadata: { name, namespace },
    } = await fixture.launch();
    await fixture.session(name, ({ status }) => status?.phase === "Running", "running session");
    await eventually(
      async () =>
        (await fixture.caches.get({ name: "kept", namespace })).metadata.finalizers?.includes(
          finalizers.cache,
        ) ?? false,
    );
    await fixture.stopOperators();
    await fixture.components.stop();
    const sentences = await drain(1);
    expect(sentences).to.include("Some game sessions did not end in time. They are released.");
    expect(sentences).to.include(
      "The last save of a game session may not be stored. In that case it stays on its node's disk.",
    );
    expect(await fixture.sessions.find({ name, namespace })).to.equal(undefined);
    expect((await fixture.caches.get({ name: "kept", namespace })).metadata.finalizers ?? []).to.be.empty;
    const { items } = await fixture.pods.listAll({ namespace });
    expect(items.flatMap(({ metadata }) => metadata.finalizers ?? [])).to.be.empty;
  });

  it("releases many caches concurrently, so that a slow one does not block the others", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `kept-${String(index).padStart(2, "0")}`);
    const [slow = "", ...others] = names;
    const { namespace } = fixture;
    for (const name of names) {
      await fixture.createCache(name);
      await fixture.caches.mergePatch({ name, namespace }, { metadata: { finalizers: [finalizers.cache] } });
    }
    const isReleased = async (name: string): Promise<boolean> =>
      ((await fixture.caches.get({ name, namespace })).metadata.finalizers ?? []).length === 0;
    const api = await FaultyApi.start(await sharedKubeApiServer());
    const { arrived, release: goOn } = api.holdOnce(
      ({ method, path }) => method === "PATCH" && path.endsWith(`/gamecaches/${slow}`),
    );
    const config = {
      sessionsNamespace: namespace,
      releaseNamespace: namespace,
      deployments: [],
      drainSeconds: 1,
      jobName: undefined,
    };
    const draining = drainRelease({
      transport: api.transport(),
      config,
      clock: systemClock,
      logger: silentLogger,
      signal: new AbortController().signal,
    });
    await arrived;
    await eventually(async () => (await Promise.all(others.map(isReleased))).every(Boolean), {
      what: "the others to be released",
    });
    expect(await isReleased(slow)).to.equal(false);
    goOn();
    await draining;
    expect(await isReleased(slow)).to.equal(true);
    await api.stop();
  });

  it("stops the programs, so that none of them adds a finalizer again", async () => {
    const { namespace } = fixture;
    for (const program of ["api", "operator"]) await createDeployment(namespace, `${release}-${program}`);
    await drain(1);
    for (const program of ["api", "operator"]) {
      expect(await replicasOf(namespace, `${release}-${program}`), program).to.equal(0);
    }
  });

  it("fails with instructions if a program is scaled up again during the drain", async () => {
    const { namespace } = fixture;
    for (const program of ["api", "operator"]) await createDeployment(namespace, `${release}-${program}`);
    await fixture.createCache("kept");
    await fixture.caches.mergePatch(
      { name: "kept", namespace },
      { metadata: { finalizers: [finalizers.cache] } },
    );
    const api = await FaultyApi.start(await sharedKubeApiServer());
    const { arrived, release: goOn } = api.holdOnce(
      ({ method, path }) => method === "PATCH" && path.endsWith("/gamecaches/kept"),
    );
    const draining = drain(1, { over: api.transport() }).then(
      () => undefined,
      (error: unknown) => error,
    );
    await arrived;
    await scale(namespace, `${release}-operator`, 1);
    goOn();
    expect(await draining).to.match(
      /Scaled up again: \S*drained-operator\. Turn off automatic sync .* run this Job again\./,
    );
    expect(await quotas(), "who keeps the release can go on").to.deep.equal([]);
    await api.stop();
  });

  it("does nothing if the namespace is gone", async () => {
    const { admin } = await sharedKubeApiServer();
    const config = {
      sessionsNamespace: "never-there",
      releaseNamespace: fixture.namespace,
      deployments: [],
      drainSeconds: 1,
      jobName: undefined,
    };
    await drainRelease({
      transport: admin,
      config,
      clock: systemClock,
      logger: silentLogger,
      signal: new AbortController().signal,
    });
  });

  it("has only the permissions that it uses", async () => {
    const pods = new ResourceClient(transport, podType);
    const error: unknown = await pods.delete({ name: "any", namespace: fixture.namespace }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(isForbidden(error) && !isNotFound(error)).to.equal(true);
  });
});

describe("Deletion of the sessions namespace", function () {
  this.timeout(90_000);

  it("lets its sessions end although its Roles are deleted first", async () => {
    const fixture = await OperatorFixture.start();
    try {
      fixture.components.behaviour.isStoreUnavailable = true;
      await fixture.startOperator();
      const {
        metadata: { name, namespace },
      } = await fixture.launch();
      await fixture.session(name, ({ status }) => status?.phase === "Running", "running session");
      // The order in which Kubernetes empties a namespace: its pods first, then everything else at once.
      await fixture.pods.delete({ name, namespace });
      await fixture.session(
        name,
        ({ status }) => status?.conditions?.some(({ reason }) => reason === "StoreUnreachable") ?? false,
        "session whose save waits",
      );
      const { admin } = await sharedKubeApiServer();
      await admin.request({
        method: "DELETE",
        path: `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace ?? ""}/rolebindings`,
      });
      await fixture.sessions.delete({ name, namespace });
      await eventually(
        async () => {
          // The operator's deadline counts from when it saw the stop.
          await fixture.pass(700_000);
          await fixture.components.report(fixture.nodeNames[0] ?? "");
          return (await fixture.sessions.find({ name, namespace })) === undefined;
        },
        { what: `${name} to be gone`, timeoutMs: 30_000, intervalMs: 1000 },
      );
    } finally {
      await fixture.clear();
    }
  });
});

async function drainTransport(namespace: string): Promise<KubeTransport> {
  const server = await sharedKubeApiServer();
  const account = { namespace, name: "drain" };
  const rules = [...clusterRules, ...sessionsNamespaceRules, ...releaseNamespaceRules].map((rule) => ({
    ...rule,
    ...(rule.resourceNames && {
      resourceNames: rule.resourceNames.flatMap((name) =>
        name.includes("jobName")
          ? ["kubectl", "helm"].map(jobNameOf)
          : [name.replace("{{ .Release.Name }}", release)],
      ),
    }),
  }));
  return KubeTransport.fromFile(
    (await server.asServiceAccount(account, rules, { roleNamespace: namespace })).kubeconfigPath,
  );
}

/** Does what the controller manager does with a new quota, which the API server then enforces. */
async function activateQuota(namespace: string): Promise<true> {
  const { admin } = await sharedKubeApiServer();
  const hard = { "count/gamesessions.joypod.dev": "0" };
  await admin.request({
    method: "PATCH",
    path: `/api/v1/namespaces/${namespace}/resourcequotas/joypod-drain/status`,
    contentType: "application/merge-patch+json",
    body: { status: { hard, used: { "count/gamesessions.joypod.dev": "1" } } },
  });
  return true;
}

async function createDeployment(namespace: string, name: string): Promise<void> {
  const { admin } = await sharedKubeApiServer();
  const matchLabels = { program: name };
  const template = {
    metadata: { labels: matchLabels },
    spec: { containers: [{ name: "program", image: "program:test" }] },
  };
  await admin.request({
    method: "POST",
    path: `/apis/apps/v1/namespaces/${namespace}/deployments`,
    body: {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name },
      spec: { replicas: 2, selector: { matchLabels }, template },
    },
  });
}

async function scale(namespace: string, name: string, replicas: number): Promise<void> {
  const { admin } = await sharedKubeApiServer();
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${name}/scale`;
  await admin.request({
    method: "PATCH",
    path,
    contentType: "application/merge-patch+json",
    body: { spec: { replicas } },
  });
}

async function replicasOf(namespace: string, name: string): Promise<number | undefined> {
  const { admin } = await sharedKubeApiServer();
  const scale = await admin.request({
    method: "GET",
    path: `/apis/apps/v1/namespaces/${namespace}/deployments/${name}/scale`,
  });
  return (scale as { spec: { replicas?: number } }).spec.replicas ?? 0;
}
