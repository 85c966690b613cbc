import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { gameNodes } from "#contracts/crd/gameNode.ts";
import { gameCaches } from "#contracts/crd/gameCache.ts";
import { gameSessions } from "#contracts/crd/gameSession.ts";
import { maintenanceConfigMap } from "#contracts/maintenance.ts";
import { configMaps, events, leases, pods, secrets } from "#kube/api/builtin.ts";
import type { Draft, KubeObject, Stored } from "#kube/api/object.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { objectPath, type ResourceType } from "#kube/api/resourceType.ts";
import { deployments } from "#kubectl/cluster/workloads.ts";
import { createProgram } from "#kubectl/program.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { aGameCache } from "#test/factories/gameCache.ts";
import { aGameNode, aCacheEntry } from "#test/factories/gameNode.ts";
import {
  aCondition,
  aDigest,
  aGameSession,
  aPlacedStatus,
  aRunningStatus,
  aStreamSummary,
} from "#test/factories/gameSession.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { sharedKubeApiServer, type KubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";

const run = promisify(execFile);
const bin = join(repositoryRoot, "kubectl/bin/kubectl-joypod");

/** Text that must not occur in a bundle, by the place where it is planted. */
const planted = {
  ofSecret: "pL4nted-secret-of-the-store",
  ofVariable: "pL4nted-variable",
  ofHelm: "pL4nted-helm-password",
  email: "planted.player@example.org",
  ticket: "eyJwbGFudGVkIjoxfQ.eyJhdWQiOiJncyJ9.c2lnbmF0dXJlMTIz",
  partnerKey: `joypod_live_${"p".repeat(16)}_${"q".repeat(46)}`,
  playersAddress: "203.0.113.77",
  player: "planted-player-0001",
  annotation: "pL4nted-annotation-token",
  ofAddress: "50%off-planted",
} as const;

describe("kubectl joypod", function () {
  this.timeout(60_000);
  let server: KubeApiServer;
  let namespace: string;
  let sessionsNamespace: string;
  let nodeName: string;
  let directory: string;
  const cleanUps: (() => Promise<void>)[] = [];

  before(async () => {
    server = await sharedKubeApiServer();
    [namespace, sessionsNamespace] = [
      await server.createNamespace("release"),
      await server.createNamespace("sessions"),
    ];
    nodeName = `node-of-${namespace}`;
    directory = mkdtempSync(join(tmpdir(), "joypod-test-kubectl-"));
    await create(deployments, {
      metadata: { name: "joypod-api", namespace, labels: labelsOf(namespace, "api") },
      spec: podTemplate([
        {
          name: "api",
          image: "joypod/control-plane:1",
          env: [
            { name: "SESSIONS_NAMESPACE", value: sessionsNamespace },
            { name: "PASSWORD_PEPPER", value: planted.ofVariable },
          ],
        },
      ]),
    });
    await create(secrets, {
      metadata: { name: "joypod-s3", namespace },
      type: "Opaque",
      data: { secretKey: base64(planted.ofSecret), bucket: base64("saves") },
    });
    await create(leases, {
      metadata: { name: "joypod-operator", namespace },
      spec: {
        holderIdentity: "joypod-operator-1",
        leaseDurationSeconds: 15,
        renewTime: new Date().toISOString().replace("Z", "000Z"),
      },
    });
    await addNode();
    await create(
      gameCaches,
      within(
        aGameCache({
          spec: {
            source: {
              bucket: "joypod",
              key: "archives/a/b.tar.gz",
              sha256: aDigest,
              sizeBytes: 3 * 2 ** 20,
              unpackedSizeBytes: 5 * 2 ** 20,
            },
          },
        }),
      ),
    );
  });
  after(async () => {
    for (const cleanUp of cleanUps) await cleanUp();
    rmSync(directory, { recursive: true });
  });

  /** Creates the object, and sets its status as another writer would. */
  async function create<T extends KubeObject>(
    type: ResourceType<T>,
    { status, ...draft }: Draft<T> & { status?: object },
  ): Promise<void> {
    const client = new ResourceClient<T>(server.admin, type);
    await client.create(draft as unknown as Draft<T>);
    const { name, namespace: place } = draft.metadata;
    if (status !== undefined)
      await server.admin.request({
        method: "PATCH",
        path: objectPath(type, { name, namespace: place }, "status"),
        contentType: "application/merge-patch+json",
        body: { status },
      });
  }

  /** Returns the object for creation in this test's namespace, with a unique name. */
  function within<T extends { metadata: { name: string } }>(
    { metadata: { name }, ...object }: T,
    newName = name,
  ) {
    return { ...object, metadata: { name: newName, namespace: sessionsNamespace } };
  }

  async function addNode(): Promise<void> {
    const status = {
      capacity: { slots: 2, used: 1, schedulable: false },
      conditions: [
        aCondition("Ready", {
          status: "False",
          reason: "AgentSilent",
          message: "The node agent has not reported for 60 s.",
        }),
      ],
      cache: {
        capacityBytes: 10 * 2 ** 30,
        freeBytes: 2 ** 30,
        entries: [aCacheEntry({ bytes: 5 * 2 ** 20 })],
      },
      heartbeat: { renewedAt: new Date().toISOString(), agentVersion: "0.1.0" },
    };
    await create(gameNodes, { metadata: { name: nodeName }, spec: aGameNode().spec, status });
    cleanUps.push(() => new ResourceClient(server.admin, gameNodes).delete({ name: nodeName }));
  }

  async function addSession(name: string, status: object, spec: object = {}): Promise<void> {
    const session = aGameSession({ spec: { userId: planted.player, ...spec } });
    await create(gameSessions, { ...within(session, name), status });
  }

  /** Returns the output of the command. Errors are passed to the caller. */
  async function printed(...args: string[]): Promise<string> {
    const lines: string[] = [];
    const program = createProgram({
      streams: process,
      exit: () => undefined,
      clock: systemClock,
      print: (text) => lines.push(text),
      signal: new AbortController().signal,
    });
    await program.parseAsync(["--kubeconfig", server.kubeconfigPath, "--namespace", namespace, ...args], {
      from: "user",
    });
    return lines.join("\n");
  }

  it("shows the status on one screen, with warnings", async () => {
    await addSession(
      "gs-status",
      aPlacedStatus({ phase: "Starting", startedAt: new Date(Date.now() - 100_000).toISOString() }),
    );
    const screen = await printed("status");
    expect(screen)
      .to.match(/^Release: +release-\w+ 0\.1\.0 in namespace /)
      .and.match(/api +0\/2 /);
    expect(screen)
      .to.match(/Leaders: +operator joypod-operator-1, api NONE/)
      .and.match(/! api has had no leader/);
    expect(screen).to.include(
      `! Node ${nodeName}: Ready is False (AgentSilent): The node agent has not reported for 60 s.`,
    );
    expect(screen).to.match(
      /! Session gs-status has been starting for 1[01]\ds\. Run `kubectl joypod session gs-status`/,
    );
    expect(screen).to.match(/^Queue: +unknown$/m);
    const { components, nodes, stores } = JSON.parse(await printed("status", "-o", "json")) as {
      components: object[];
      nodes: { slots: number; used: number };
      stores: { state: string };
    };
    expect(nodes.used, "slots that are used, of the nodes that take sessions").to.be.at.most(nodes.slots);
    expect(components).to.deep.equal([
      { name: "api", namespace, ready: 0, wanted: 2, image: "joypod/control-plane:1" },
    ]);
    expect(stores.state, "no API runs here that could be asked").to.equal("unknown");
  });

  it("computes ages and leaders by the API server's clock when the local clock is off", async () => {
    for (const offMs of [-120_000, 120_000]) {
      const lines: string[] = [];
      const clock = { ...systemClock, now: () => new Date(Date.now() + offMs) };
      await new ResourceClient(server.admin, leases).mergePatch(
        { name: "joypod-operator", namespace },
        { spec: { renewTime: new Date().toISOString().replace("Z", "000Z") } },
      );
      const program = createProgram({
        streams: process,
        exit: () => undefined,
        clock,
        print: (text) => lines.push(text),
        signal: new AbortController().signal,
      });
      await program.parseAsync(["--kubeconfig", server.kubeconfigPath, "--namespace", namespace, "status"], {
        from: "user",
      });
      expect(lines.join("\n"), `${offMs} ms off`).to.match(/Leaders: +operator joypod-operator-1/);
    }
  });

  it("ignores another installation whose release has the same name", async () => {
    const [agents, others] = [await server.createNamespace("agents"), await server.createNamespace("others")];
    const program = (component: string, place: string, env: { name: string; value: string }[] = []) =>
      create(deployments, {
        metadata: { name: `joypod-${component}`, namespace: place, labels: labelsOf(namespace, component) },
        spec: podTemplate([{ name: component, image: `joypod/${place}:1`, env }]),
      });
    await program("operator", namespace, [{ name: "NODE_AGENT_NAMESPACE", value: agents }]);
    await program("node-agent", agents);
    await program("operator", others, [{ name: "NODE_AGENT_NAMESPACE", value: others }]);
    try {
      const { components } = JSON.parse(await printed("status", "-o", "json")) as {
        components: { namespace: string }[];
      };
      expect(components.map((component) => component.namespace)).to.have.members([
        namespace,
        namespace,
        agents,
      ]);
    } finally {
      for (const place of [namespace, others])
        await new ResourceClient(server.admin, deployments).delete({
          name: "joypod-operator",
          namespace: place,
        });
      await new ResourceClient(server.admin, deployments).delete({
        name: "joypod-node-agent",
        namespace: agents,
      });
    }
  });

  it("lists sessions, nodes, games and caches in columns", async () => {
    await addSession("gs-listed", aRunningStatus({ nodeName }));
    const sessions = await printed("sessions");
    expect(sessions)
      .to.match(/^NAME +PHASE +GAME +NODE +PORT +AGE +REASON$/m)
      .and.match(new RegExp(`^gs-listed +Running +the-question +${nodeName} +20000 +\\d+s +-$`, "m"));
    expect(await printed("nodes")).to.match(
      new RegExp(`^${nodeName} +NO +1/2 +1\\.0 GiB of 10\\.0 GiB +1 .*not Ready \\(AgentSilent\\)`, "m"),
    );
    expect(await printed("games")).to.match(
      /^the-question +aaaaaaaaaaaa +3\.0 MiB +5\.0 MiB +All +0\/0 +\d/m,
    );
    expect(await printed("cache")).to.match(
      new RegExp(`^${nodeName} +the-question +aaaaaaaaaaaa +Ready +5\\.0 MiB`, "m"),
    );
    expect(
      (JSON.parse(await printed("sessions", "-o", "json")) as Stored<KubeObject>[]).map(
        ({ metadata }) => metadata.name,
      ),
    ).to.include("gs-listed");
  });

  it("shows a session as stopping once a stop is requested", async () => {
    await addSession("gs-asked", aRunningStatus({ nodeName }), {
      desiredState: "Stopped",
      stopReason: "UserRequested",
    });
    expect(await printed("sessions")).to.match(/^gs-asked +Stopping .* UserRequested$/m);
    expect(await printed("session", "gs-asked")).to.match(/^Phase: +Stopping$/m);
    expect(await printed("status")).to.match(/^Sessions: .*\b1 Stopping\b/m);
  });

  it("shows where a late save is, and that it is stored later", async () => {
    const failure = { reason: "SaveNotStored", message: "The last save could not be stored in time." };
    const finishedAt = new Date(Date.now() - 600_000).toISOString();
    const over = (persisted: object) =>
      aRunningStatus({
        phase: "Finished",
        nodeName,
        failure,
        finishedAt,
        conditions: [aCondition("Finished"), aCondition("SavePersisted", persisted)],
      });
    await addSession(
      "gs-waits",
      over({ status: "False", reason: "StoreUnreachable", message: "The object store cannot be reached." }),
    );
    await addSession("gs-came", over({ reason: "Stored", message: "The last save is stored." }));
    const sessions = await printed("sessions");
    expect(sessions).to.match(
      /^gs-waits +Finished .* SaveNotStored: The last save could not be stored in time\.$/m,
    );
    expect(sessions).to.match(
      /^gs-came +Finished .* SaveNotStored: The last save was not stored in time\. Current state: The last save is stored\.$/m,
    );
    expect(await printed("session", "gs-came")).to.match(
      /^Failure: +SaveNotStored: .* Current state: The last save is stored\.$/m,
    );
    expect(await printed("status"))
      .to.match(
        new RegExp(
          `^ *! Session gs-waits failed \\(SaveNotStored\\): .* Currently its last save is still on ${nodeName}\\.`,
          "m",
        ),
      )
      .and.to.not.include("gs-came");
  });

  it("shows a session's launch steps, conditions and events", async () => {
    await addSession(
      "gs-story",
      aRunningStatus({
        nodeName,
        startedAt: "2030-01-01T10:00:00.250Z",
        readyAt: "2030-01-01T10:00:04.750Z",
        streamSummary: aStreamSummary(),
      }),
    );
    await create(events, {
      metadata: { name: "gs-story.1", namespace: sessionsNamespace },
      eventTime: "2030-01-01T10:00:01.500000Z",
      type: "Normal",
      reason: "PodCreated",
      action: "Start",
      reportingController: "joypod.dev/operator",
      reportingInstance: "test",
      note: "Created the pod.",
      regarding: { kind: "GameSession", name: "gs-story", namespace: sessionsNamespace },
    });
    const story = await printed("session", "gs-story");
    expect(story)
      .to.match(/^session ready +.*\|.*\| +status\.readyAt$/m)
      .and.match(/^pod created +.*event PodCreated$/m);
    expect(story)
      .to.match(/^StreamReady +True /m)
      .and.match(/2030-01-01T10:00:01\.500000Z +Normal +PodCreated +GameSession +Created the pod\.$/m);
    expect(story).to.match(/^Streamed: +60 s, first picture after 6\.3 s, average 58\.3 frames\/s, /m);
    expect(story).to.include("The cluster cannot observe the first frame in the browser");
  });

  it("prints sessions after each change until it is interrupted", async () => {
    await addSession("gs-watched", aPlacedStatus({ phase: "Starting", nodeName }));
    const lines: string[] = [];
    const interruption = new AbortController();
    const program = createProgram({
      streams: process,
      exit: () => undefined,
      clock: systemClock,
      print: (text) => lines.push(text),
      signal: interruption.signal,
    });
    const watching = program.parseAsync(
      ["--kubeconfig", server.kubeconfigPath, "--namespace", namespace, "sessions", "--watch"],
      { from: "user" },
    );
    await eventually(() => /gs-watched +Starting/.test(lines.at(-1) ?? ""), { what: "the first table" });
    await new ResourceClient(server.admin, gameSessions).mergePatchStatus(
      { name: "gs-watched", namespace: sessionsNamespace },
      { status: { phase: "Running" } },
    );
    await eventually(() => /gs-watched +Running/.test(lines.at(-1) ?? ""), { what: "the change" });
    interruption.abort();
    await watching;
  });

  it("stops sessions by deleting them and waits for them to end", async () => {
    await addSession("gs-stopped", aRunningStatus({ nodeName }));
    const client = new ResourceClient(server.admin, gameSessions);
    const ref = { name: "gs-stopped", namespace: sessionsNamespace };
    await client.mergePatch(ref, { metadata: { name: ref.name, finalizers: ["joypod.dev/recorder"] } });
    const stopping = printed("stop", "gs-stopped");
    await eventually(async () => (await client.get(ref)).metadata.deletionTimestamp !== undefined, {
      what: "the deletion",
    });
    await client.mergePatchStatus(ref, {
      status: { conditions: [aCondition("Finished"), aCondition("SavePersisted")] },
    });
    expect(await stopping).to.equal("gs-stopped has ended.");
    await client.mergePatch(ref, { metadata: { name: ref.name, finalizers: [] } });
  });

  it("turns maintenance on and off with the ConfigMap that the API watches", async () => {
    const client = new ResourceClient(server.admin, configMaps);
    const ref = { name: maintenanceConfigMap, namespace };
    expect(await printed("maintenance", "status")).to.equal("Maintenance is off.");
    await printed("maintenance", "on", "--message", "We are back at 14:00.");
    const { since } = (await client.get(ref)).data ?? {};
    await printed("maintenance", "on", "--message", "We are back at 15:00.");
    expect((await client.get(ref)).data, "its beginning stays").to.deep.equal({
      since,
      message: "We are back at 15:00.",
    });
    expect(await printed("status")).to.match(/^Maintenance: +ON for \d+s: We are back at 15:00\.$/m);
    expect(await printed("maintenance", "off")).to.match(/has ended/);
    expect(await printed("maintenance", "off")).to.equal("Maintenance was already off.");
  });

  it("removes the message of a manual maintenance when none is given", async () => {
    const client = new ResourceClient(server.admin, configMaps);
    const ref = { name: maintenanceConfigMap, namespace };
    await client.create(
      { metadata: ref, data: { message: "We are back at 14:00." } },
      { fieldManager: "kubectl-create" },
    );
    expect(await printed("maintenance", "on")).to.include("Message to players: the default text");
    expect((await client.get(ref)).data).to.not.have.property("message");
    await printed("maintenance", "off");
  });

  it("writes a support bundle without the planted secrets", async () => {
    await addSession(
      "gs-bundled",
      aRunningStatus({
        nodeName,
        failure: {
          reason: "Failed",
          message: `${planted.email} from ${planted.playersAddress} with ${planted.ticket}`,
        },
      }),
    );
    await create(events, {
      metadata: {
        name: "gs-bundled.1",
        namespace: sessionsNamespace,
        annotations: { token: planted.annotation },
      },
      eventTime: "2030-01-01T10:00:01.500000Z",
      type: "Warning",
      reason: "Failed",
      action: "Ask",
      reportingController: "joypod.dev/operator",
      reportingInstance: "test",
      note: `${planted.partnerKey}, ${planted.ofAddress} and ${planted.ofSecret}`,
      regarding: { kind: "GameSession", name: "gs-bundled", namespace: sessionsNamespace },
    });
    // A percent sign in a password, not encoded.
    await create(secrets, {
      metadata: { name: "joypod-postgres", namespace },
      type: "Opaque",
      data: { url: base64(`postgres://joypod:${planted.ofAddress}@db/joypod`) },
    });
    await create(pods, {
      metadata: { name: "joypod-api-1", namespace, labels: labelsOf(namespace, "api") },
      spec: {
        containers: [
          {
            name: "api",
            image: "joypod/control-plane:1",
            env: [
              { name: "SIGNING_KEYS", value: planted.ofVariable },
              { name: "DATABASE", value: `postgres://joypod:${planted.ofVariable}@db/joypod` },
            ],
          },
        ],
      },
    });
    const record = gzipSync(
      JSON.stringify({ config: { api: { replicas: 3, env: { PASSWORD: planted.ofHelm } } } }),
    ).toString("base64");
    await create(secrets, {
      metadata: {
        name: `sh.helm.release.v1.${namespace}.v1`,
        namespace,
        labels: { owner: "helm", name: namespace, status: "deployed", version: "1" },
      },
      type: "helm.sh/release.v1",
      data: { release: base64(record) },
    });
    const file = join(directory, "bundle.tar.gz");
    await printed("support-bundle", "--output-file", file);
    await run("tar", ["--extract", "--file", file, "--directory", directory, "--strip-components", "1"]);
    const { stdout: content } = await run("sh", ["-c", "cat *.json *.txt"], {
      cwd: directory,
      maxBuffer: 64 * 2 ** 20,
    });
    for (const [where, secret] of Object.entries(planted)) {
      expect(
        content.includes(secret) || content.includes(base64(secret)),
        `the bundle holds what was planted ${where}`,
      ).to.equal(false);
    }
    expect(content)
      .to.include('"replicas": 3')
      .and.include("gs-bundled")
      .and.include("AgentSilent")
      .and.include("joypod/control-plane:1")
      .and.include("[redacted: e-mail]");
    expect(
      await failure("--namespace", namespace, "support-bundle", "--output-file", file),
      "the file is there",
    ).to.match(/1 .*Specify another file with --output-file/);
  });

  /** Returns the exit code and standard error of the program. */
  async function failure(...args: string[]): Promise<string> {
    const ended: unknown = await run(bin, ["--kubeconfig", server.kubeconfigPath, ...args], {
      env: { PATH: process.env["PATH"] },
    }).catch((error: unknown) => error);
    const { code, stderr, stdout } = ended as { code?: number; stderr: string; stdout: string };
    return `${code ?? 0} ${stderr}${stdout}`.trim();
  }

  it("exits when it is interrupted while it waits", async () => {
    const sessions = new ResourceClient(server.admin, gameSessions);
    const ref = { name: "gs-lasting", namespace: sessionsNamespace };
    await sessions.create({ ...aGameSession(), metadata: { ...ref, finalizers: ["joypod.dev/test"] } });
    const stopping = spawn(
      bin,
      ["--kubeconfig", server.kubeconfigPath, "--namespace", namespace, "stop", ref.name],
      { env: { PATH: process.env["PATH"] }, stdio: "ignore" },
    );
    try {
      await eventually(async () => (await sessions.get(ref)).metadata.deletionTimestamp !== undefined, {
        timeoutMs: 20_000,
        what: "the command to wait for the session",
      });
      const ended = once(stopping, "exit");
      stopping.kill("SIGINT");
      expect(await ended).to.deep.equal([130, null]);
    } finally {
      stopping.kill("SIGKILL");
      await sessions.mergePatch(ref, { metadata: { finalizers: null } });
    }
  });

  it("exits with 130 when a watch is interrupted", async () => {
    const watching = spawn(
      bin,
      ["--kubeconfig", server.kubeconfigPath, "--namespace", namespace, "sessions", "--watch"],
      { env: { PATH: process.env["PATH"] }, stdio: ["ignore", "pipe", "ignore"] },
    );
    try {
      const ended = once(watching, "exit");
      await once(watching.stdout, "data", { signal: AbortSignal.timeout(30_000) });
      watching.kill("SIGINT");
      expect(await ended).to.deep.equal([130, null]);
    } finally {
      watching.kill("SIGKILL");
    }
  });

  it("fails when a stopped session has ended before its last save was stored", async () => {
    const failed = { reason: "SaveNotStored", message: "The last save could not be stored in time." };
    const conditions = [
      aCondition("Finished"),
      aCondition("SavePersisted", { status: "False", reason: "StoreUnreachable" }),
    ];
    await addSession(
      "gs-unsaved",
      aRunningStatus({ phase: "Finished", nodeName, failure: failed, conditions }),
    );
    const client = new ResourceClient(server.admin, gameSessions);
    const ref = { name: "gs-unsaved", namespace: sessionsNamespace };
    await client.mergePatch(ref, { metadata: { name: ref.name, finalizers: ["joypod.dev/recorder"] } });
    const said = await failure("--namespace", namespace, "stop", ref.name);
    expect(said).to.match(/^1 Some last saves are not stored yet/);
    expect(said).to.include(
      `gs-unsaved has ended. Its last save is still on ${nodeName}. SaveNotStored: The last save could not be stored in time.`,
    );
    await client.mergePatch(ref, { metadata: { name: ref.name, finalizers: [] } });
  });

  it("fails with a helpful message and an exit code", async () => {
    expect(await failure("--namespace", namespace, "session", "gs-never")).to.match(
      /^4 Session gs-never was not found .*Run `kubectl joypod sessions`/,
    );
    expect(await failure("--namespace", "default", "status")).to.match(
      /^4 Joypod was not found in the namespace default\. Specify its namespace with --namespace/,
    );
    expect(await failure("--context", "another", "status")).to.match(
      /^2 The kubeconfig has no context another/,
    );
    expect(await failure("--namespace", namespace, "sessions", "--watch", "--output", "json")).to.match(
      /^2 --watch cannot be combined with --output json/,
    );
    expect(await failure("explode")).to.match(/^2 error: unknown command 'explode'/);
    expect(await failure("--namespace", namespace, "maintenance", "on", "--message", "")).to.match(
      /^2 .*one line of at most 400 characters/,
    );
    const stranger = await server.asUser(`stranger-of-${namespace}`, []);
    expect(await failure("--kubeconfig", stranger.kubeconfigPath, "status")).to.match(
      /^5 Permission denied: .*forbidden.* Request the permission/,
    );
  });
});

/**
 * Selects the objects of the release with the namespace's name, because other suites have releases on the
 * same server.
 */
function labelsOf(release: string, component: string): Record<string, string> {
  return {
    "app.kubernetes.io/name": "joypod",
    "app.kubernetes.io/instance": release,
    "app.kubernetes.io/component": component,
    "app.kubernetes.io/version": "0.1.0",
  };
}

function podTemplate(containers: { name: string; image: string; env: { name: string; value: string }[] }[]) {
  const labels = labelsOf("joypod", "api");
  return {
    replicas: 2,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers } },
  };
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
