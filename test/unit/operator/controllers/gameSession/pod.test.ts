import { expect } from "chai";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { aDigest, aGameSession } from "#test/factories/gameSession.ts";
import { sessionShare } from "#contracts/crd/capacity.ts";
import { podRequests } from "#operator/cluster/podRequests.ts";
import { readConfig } from "#operator/config.ts";
import { buildPod } from "#operator/controllers/gameSession/pod.ts";

const images = { STREAMER_IMAGE: "streamer:1", GAME_IMAGE: "game:1" };
const place = {
  nodeName: "node1",
  mediaPort: 20_003,
  addresses: ["192.0.2.1", "2001:db8::1"],
  operatorPublicKey: `B${"A".repeat(42)}`,
};

function podOf(session = aGameSession(), environment: Record<string, string> = {}) {
  const pod = buildPod(
    session,
    place,
    readConfig({ GPU_RESOURCE_NAME: "", ...images, ...environment }).sessionPod,
  );
  const [game] = pod.spec?.containers ?? [];
  const [streamer] = pod.spec?.initContainers ?? [];
  if (!pod.spec || !game || !streamer) throw new Error("The pod has no containers.");
  return { pod, spec: pod.spec, game, streamer };
}

const environmentOf = ({
  env,
}: {
  env?: { name: string; value?: string }[];
}): Record<string, string | undefined> =>
  Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]));

describe("buildPod", () => {
  it("passes the chart's display server to the streamer, or chooses one automatically", () => {
    expect(environmentOf(podOf().streamer)).to.include({ DISPLAY_SERVER: "auto" });
    expect(environmentOf(podOf(aGameSession(), { DISPLAY_SERVER: "xwayland" }).streamer)).to.include({
      DISPLAY_SERVER: "xwayland",
    });
  });

  it("references the configured pull secrets, if any", () => {
    expect(podOf().spec).to.not.have.property("imagePullSecrets");
    expect(
      podOf(aGameSession(), { IMAGE_PULL_SECRETS: "ours, mirror.example.com" }).spec.imagePullSecrets,
    ).to.deep.equal([{ name: "ours" }, { name: "mirror.example.com" }]);
    expect(() => readConfig({ ...images, IMAGE_PULL_SECRETS: "No Name" })).to.throw("IMAGE_PULL_SECRETS");
  });

  it("names the pod after its session, sets the owner, and keeps the pod until its termination report is read", () => {
    const { metadata } = podOf().pod;
    expect(metadata).to.deep.include({
      name: "gs-aaaaaaaaaaaaaaaaaaaa",
      namespace: "joypod-sessions",
      finalizers: ["joypod.dev/usage"],
    });
    expect(metadata.ownerReferences).to.deep.equal([
      {
        apiVersion: "joypod.dev/v1alpha1",
        kind: "GameSession",
        name: "gs-aaaaaaaaaaaaaaaaaaaa",
        uid: "uid-of-gs-aaaaaaaaaaaaaaaaaaaa",
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    expect(metadata.labels).to.include({
      "joypod.dev/game-session": "gs-aaaaaaaaaaaaaaaaaaaa",
      "joypod.dev/game": "the-question",
    });
  });

  it("mounts no token and gives neither container privileges", () => {
    const { spec, game, streamer } = podOf();
    expect(spec).to.include({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      restartPolicy: "Never",
      terminationGracePeriodSeconds: 120,
    });
    expect(spec).to.not.have.property("activeDeadlineSeconds");
    expect(spec.securityContext).to.deep.include({
      runAsNonRoot: true,
      runAsUser: 10_001,
      seccompProfile: { type: "RuntimeDefault" },
    });
    for (const { securityContext } of [game, streamer]) {
      expect(securityContext).to.deep.equal({
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ["ALL"] },
      });
    }
  });

  it("gives the public keys for the session's tickets to the streamer only", () => {
    const ticketPublicKey = "A".repeat(43);
    const { game, streamer } = podOf(aGameSession({ spec: { ticketPublicKey } }));
    expect(environmentOf(streamer)).to.include({
      TICKET_PUBLIC_KEY: ticketPublicKey,
      OPERATOR_PUBLIC_KEY: place.operatorPublicKey,
      SESSION_ID: "gs-aaaaaaaaaaaaaaaaaaaa",
    });
    expect(environmentOf(game)).to.not.have.any.keys("TICKET_PUBLIC_KEY", "OPERATOR_PUBLIC_KEY");
  });

  it("disables tickets for a session without a ticket key", () => {
    expect(environmentOf(podOf().streamer)).to.include({
      TICKET_PUBLIC_KEY: "none",
      OPERATOR_PUBLIC_KEY: place.operatorPublicKey,
    });
  });

  it("lets a game write only to size-limited memory volumes", () => {
    const { spec, game } = podOf();
    const writable = (game.volumeMounts ?? [])
      .filter(({ readOnly }) => readOnly !== true)
      .map(({ name }) => name);
    expect(writable).to.include.members(["saves", "game-tmp", "game-shm"]);
    for (const name of writable) {
      const volume = spec.volumes?.find((candidate) => candidate.name === name);
      expect(volume?.emptyDir, name).to.have.all.keys("medium", "sizeLimit");
      expect(volume?.emptyDir, name).to.include({ medium: "Memory" });
    }
  });

  it("gives the game a /tmp and a /dev/shm of the configured sizes, within its memory", () => {
    const sizeAt = ({ spec, game }: ReturnType<typeof podOf>, path: string) => {
      const mount = game.volumeMounts?.find(({ mountPath }) => mountPath === path);
      return spec.volumes?.find(({ name }) => name === mount?.name)?.emptyDir?.sizeLimit;
    };
    const usual = podOf();
    expect([sizeAt(usual, "/tmp"), sizeAt(usual, "/dev/shm")]).to.deep.equal(["268435456", "268435456"]);
    const chosen = podOf(aGameSession(), { GAME_TMP_SIZE: "1Gi", GAME_SHARED_MEMORY_SIZE: "512Mi" });
    expect([sizeAt(chosen, "/tmp"), sizeAt(chosen, "/dev/shm")]).to.deep.equal(["1073741824", "536870912"]);
    expect(chosen.game.resources).to.deep.equal(usual.game.resources);
    expect(() => readConfig({ ...images, GAME_TMP_SIZE: "much" })).to.throw("GAME_TMP_SIZE");
  });

  it("selects no driver, and keeps runtime files and caches out of the saves", () => {
    const variables = environmentOf(podOf().game);
    expect(variables).to.not.have.any.keys("SDL_AUDIODRIVER", "SDL_VIDEODRIVER", "ALSOFT_DRIVERS");
    for (const name of [
      "XDG_RUNTIME_DIR",
      "XDG_CACHE_HOME",
      "PULSE_COOKIE",
      "DOTNET_BUNDLE_EXTRACT_BASE_DIR",
    ])
      expect(variables[name], name).to.match(/^\/tmp\/[a-z]/);
    expect(variables).to.include({ _JAVA_AWT_WM_NONREPARENTING: "1" });
  });

  it("gives a player the same machine in every session of one game, and another in other games", () => {
    const machine = (spec: Partial<GameSession["spec"]>) =>
      environmentOf(podOf(aGameSession({ spec })).game)["JOYPOD_MACHINE_ID"];
    const first = machine({ userId: "one" });
    expect(first).to.match(/^[0-9a-f]{32}$/);
    expect(machine({ userId: "one", profile: "Gpu" })).to.equal(first);
    expect(machine({ userId: "two" })).to.not.equal(first);
    expect(machine({ userId: "one", gameCacheRef: { name: "other" } })).to.not.equal(first);
    expect(podOf().spec).to.include({ hostname: "joypod" });
  });

  it("pins the pod by affinity, so that the scheduler accounts for it, and keeps it on an unreachable node", () => {
    const { spec } = podOf();
    expect(spec).to.not.have.property("nodeName");
    expect(
      spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms,
    ).to.deep.equal([{ matchFields: [{ key: "metadata.name", operator: "In", values: ["node1"] }] }]);
    for (const key of ["node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"]) {
      expect(spec.tolerations, "without a limit").to.deep.include({
        key,
        operator: "Exists",
        effect: "NoExecute",
      });
    }
    expect(spec.tolerations).to.deep.include({
      key: "nvidia.com/gpu",
      operator: "Exists",
      effect: "NoSchedule",
    });
  });

  it("adds the configured labels, annotations and node selector to its own", () => {
    const { pod, spec } = podOf(aGameSession(), {
      SESSION_POD_LABELS: '{"team":"games"}',
      SESSION_POD_ANNOTATIONS: '{"example.com/cost":"play"}',
      SESSION_POD_NODE_SELECTOR: '{"pool":"new"}',
      GPU_TOLERATIONS: '[{"key":"games","operator":"Exists"}]',
    });
    expect(pod.metadata.labels).to.include({
      team: "games",
      "app.kubernetes.io/component": "game-session",
      "joypod.dev/game": "the-question",
    });
    expect(pod.metadata.annotations).to.include({
      "example.com/cost": "play",
      "karpenter.sh/do-not-disrupt": "true",
    });
    expect(spec.nodeSelector).to.deep.equal({ pool: "new" });
    expect(spec.tolerations).to.deep.include({ key: "games", operator: "Exists" });
    expect(podOf().spec, "of a site that says nothing").to.not.have.property("nodeSelector");
  });

  it("sets the annotation of each node autoscaler that protects the session", () => {
    expect(podOf().pod.metadata.annotations).to.deep.equal({
      "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
      "karpenter.sh/do-not-disrupt": "true",
    });
  });

  it("enables the network, with separate nameservers, only for sessions with internet access", () => {
    const closed = podOf();
    expect(closed.pod.metadata.labels).to.not.have.property("joypod.dev/network");
    expect(environmentOf(closed.game)).to.not.have.property("GAME_NETWORK");
    expect(closed.spec).to.not.have.any.keys("dnsPolicy", "dnsConfig");
    const open = podOf(aGameSession({ spec: { network: "Internet" } }), {
      GAME_NETWORK: "internet",
      INTERNET_NAMESERVERS: "192.0.2.53",
      PROBE_IMAGE: "control-plane:1",
      POD_IP: "10.0.0.1",
    });
    expect(open.pod.metadata.labels).to.include({
      "joypod.dev/network": "internet",
      "joypod.dev/game-session": "gs-aaaaaaaaaaaaaaaaaaaa",
    });
    expect(environmentOf(open.game)).to.include({ GAME_NETWORK: "internet" });
    expect(open.spec).to.deep.include({ dnsPolicy: "None", dnsConfig: { nameservers: ["192.0.2.53"] } });
  });

  it("lets streamer and game observe only in sessions that verify a version", () => {
    const played = podOf();
    expect(environmentOf(played.streamer)).to.not.have.property("VERIFICATION");
    expect(environmentOf(played.game)).to.not.have.property("JOYPOD_OBSERVATIONS");
    const verified = podOf(aGameSession({ spec: { purpose: "Verification" } }));
    expect(environmentOf(verified.streamer)).to.include({ VERIFICATION: "true" });
    expect(environmentOf(verified.game)).to.include({ JOYPOD_OBSERVATIONS: "/run/game/observations.log" });
  });

  it("mounts the game read-only and the session's folder only in the streamer, from existing directories", () => {
    const { spec, game, streamer } = podOf();
    expect(spec.volumes?.filter(({ hostPath }) => hostPath)).to.deep.equal([
      {
        name: "game",
        hostPath: { path: `/var/lib/joypod/v1/objects/${aDigest}/content`, type: "Directory" },
      },
      {
        name: "spool",
        hostPath: { path: "/var/lib/joypod/v1/sessions/gs-aaaaaaaaaaaaaaaaaaaa", type: "Directory" },
      },
    ]);
    expect(game.volumeMounts).to.deep.include({ name: "game", mountPath: "/game", readOnly: true });
    expect(game.volumeMounts?.map(({ name }) => name)).to.not.include("spool");
    expect(streamer.volumeMounts).to.deep.include({ name: "spool", mountPath: "/spool" });
    expect(streamer.volumeMounts?.map(({ name }) => name)).to.not.include("game");
  });

  it("passes port, addresses and picture settings to the streamer", () => {
    const { streamer, game } = podOf();
    expect(streamer).to.include({ restartPolicy: "Always" });
    expect(environmentOf(streamer)).to.include({
      DISPLAY: ":99",
      SIGNAL_PORT: "8080",
      UDP_PORT: "20003",
      ANNOUNCE_ADDRESS: "192.0.2.1,2001:db8::1",
      WIDTH: "1280",
      HEIGHT: "720",
      FPS: "60",
      START_KBPS: "4000",
      MAX_KBPS: "8000",
      CODECS: "h264,vp8",
      PROFILE: "software",
      RUN_DIR: "/run/session",
      TERMINATION_LOG: "/dev/termination-log",
    });
    expect(streamer.ports, "the kubelet maps no host ports of sidecars").to.deep.equal([
      { name: "signal", containerPort: 8080, protocol: "TCP" },
    ]);
    expect(game.ports).to.deep.equal([
      { name: "media", containerPort: 20_003, hostPort: 20_003, protocol: "UDP" },
    ]);
  });

  it("passes the initial quality to the streamer, or the stream's limits if the spec has none", () => {
    const { stream } = aGameSession().spec;
    const quality = {
      preset: "DataSaver",
      width: 854,
      height: 480,
      framesPerSecond: 30,
      maxBitrateKbps: 1_500,
    } as const;
    const tell = (chosen: GameSession["spec"]["stream"]["quality"]) =>
      environmentOf(
        podOf(aGameSession({ spec: { stream: { ...stream, maxFramesPerSecond: 120, quality: chosen } } }))
          .streamer,
      );
    const bounds = { WIDTH: "1280", HEIGHT: "720", FPS: "60", MAX_FPS: "120", MAX_KBPS: "8000" };
    expect(tell(quality)).to.include({
      ...bounds,
      START_KBPS: "4000",
      QUALITY_PRESET: "dataSaver",
      QUALITY_WIDTH: "854",
      QUALITY_HEIGHT: "480",
      QUALITY_FPS: "30",
      QUALITY_MAX_KBPS: "1500",
    });
    expect(tell({ ...quality, startBitrateKbps: 900 })).to.include({ START_KBPS: "900" });
    expect(tell(undefined)).to.include({
      ...bounds,
      START_KBPS: "4000",
      QUALITY_PRESET: "auto",
      QUALITY_WIDTH: "1280",
      QUALITY_HEIGHT: "720",
      QUALITY_FPS: "60",
      QUALITY_MAX_KBPS: "8000",
    });
  });

  it("starts the launcher once the saves exist, with the engine's folder, the saves as home and the shim", () => {
    const { game } = podOf();
    expect(game.args).to.deep.equal(["/game/run.sh"]);
    expect(environmentOf(game)).to.include({
      ENGINE_DIR: "/game/engine",
      HOME: "/session/save",
      AWAIT_DIRECTORY: "/session/save",
      LIBGL_ALWAYS_SOFTWARE: "1",
      JOYPOD_PADS: "/run/session/pads",
      LD_PRELOAD: "/usr/local/lib/joypod/shim.so",
    });
    expect(game.resources).to.deep.equal({
      requests: { cpu: "500m", memory: "805306368" },
      limits: { memory: "805306368" },
    });
  });

  it("gives the game its declared time to end, and the last pack the rest of the grace period", () => {
    const timesOf = (stopGraceSeconds: number, graceSeconds: number) => {
      const session = aGameSession({ spec: { stopGraceSeconds } });
      const { spec, game, streamer } = podOf(session, { SESSION_GRACE_SECONDS: String(graceSeconds) });
      return [
        environmentOf(game).GAME_GRACE_SECONDS,
        environmentOf(streamer).PACK_DEADLINE_SECONDS,
        spec.terminationGracePeriodSeconds,
      ];
    };
    expect(timesOf(5, 120)).to.deep.equal(["5", "108", 120]);
    expect(timesOf(19, 120)).to.deep.equal(["19", "94", 120]);
    expect(timesOf(19, 15), "as long as the game and a pack need").to.deep.equal(["19", "5", 31]);
  });

  it("requests the resources that placement counts, with the session's limits", () => {
    const resources = {
      cpuMillicores: 1500,
      memoryBytes: 2 ** 30,
      memoryLimitBytes: 3 * 2 ** 30,
      gpuShare: 1,
    };
    const session = aGameSession({ spec: { resources, saveVolumeBytes: 2 ** 28 } });
    const { pod, game } = podOf(session, { STREAMER_CPU: "300m", STREAMER_MEMORY: "300Mi" });
    const { podOverhead } = readConfig({ ...images, STREAMER_CPU: "300m", STREAMER_MEMORY: "300Mi" });
    const { slots, ...counted } = sessionShare(session.spec, podOverhead);
    expect(podRequests(pod)).to.deep.equal(counted);
    expect(slots).to.equal(1);
    expect(game.resources?.limits?.["memory"]).to.equal(String(3 * 2 ** 30 + 2 ** 28));
  });

  it("uses the requests as limits by default", () => {
    const { game } = podOf(
      aGameSession({
        spec: {
          resources: { cpuMillicores: 500, memoryBytes: 2 ** 30, gpuShare: 1 },
          saveVolumeBytes: 2 ** 28,
        },
      }),
    );
    expect(game.resources?.limits?.["memory"])
      .to.equal(String(2 ** 30 + 2 ** 28))
      .and.to.equal(game.resources?.requests?.["memory"]);
  });

  it("requests as many GPUs as the session's shares if a GPU resource is configured", () => {
    const session = aGameSession({
      spec: { profile: "Gpu", resources: { cpuMillicores: 500, memoryBytes: 2 ** 30, gpuShare: 3 } },
    });
    expect(podOf(session, { GPU_RESOURCE_NAME: "amd.com/gpu" }).game.resources?.limits).to.include({
      "amd.com/gpu": "3",
    });
    expect(podOf(session).game.resources?.limits).to.not.have.property("amd.com/gpu");
  });

  it("requests one GPU and renders on it if a GPU resource is configured", () => {
    const { game, streamer, spec } = podOf(aGameSession({ spec: { profile: "Gpu" } }), {
      GPU_RESOURCE_NAME: "amd.com/gpu",
    });
    expect(game.resources?.limits).to.include({ "amd.com/gpu": "1" });
    expect(environmentOf(game)).to.not.have.property("LIBGL_ALWAYS_SOFTWARE");
    expect(environmentOf(streamer)).to.include({ PROFILE: "gpu" });
    expect(streamer.resources?.limits, "one device, in one container").to.not.have.property("amd.com/gpu");
    for (const key of ["amd.com/gpu", "nvidia.com/gpu"])
      expect(spec.tolerations).to.deep.include({ key, operator: "Exists", effect: "NoSchedule" });
  });

  it("gives each container its configured devices", () => {
    const { game, streamer } = podOf(aGameSession({ spec: { profile: "Gpu" } }), {
      GPU_RESOURCE_NAME: "gpu.intel.com/i915",
      GPU_STREAMER_COUNT: "1",
      GPU_GAME_COUNT: "2",
      GPU_GROUPS: "44,105",
      GPU_RUNTIME_CLASS: "any",
    });
    expect(game.resources?.limits).to.include({ "gpu.intel.com/i915": "2" });
    expect(streamer.resources?.limits).to.include({ "gpu.intel.com/i915": "1" });
    for (const container of [game, streamer])
      expect(environmentOf(container), "its device plugin says which").to.not.have.property(
        "NVIDIA_VISIBLE_DEVICES",
      );
  });

  it("gives a container without devices access to the node's through the runtime class", () => {
    const { game, streamer, spec } = podOf(aGameSession({ spec: { profile: "Gpu" } }), {
      GPU_RESOURCE_NAME: "nvidia.com/gpu",
      GPU_RUNTIME_CLASS: "nvidia",
    });
    expect(spec).to.include({ runtimeClassName: "nvidia" });
    for (const container of [game, streamer])
      expect(environmentOf(container)).to.include({
        NVIDIA_DRIVER_CAPABILITIES: "graphics,video,compute,utility,display",
      });
    expect(environmentOf(streamer)).to.include({ NVIDIA_VISIBLE_DEVICES: "all" });
    expect(environmentOf(game)).to.not.have.property("NVIDIA_VISIBLE_DEVICES");
  });

  it("claims one GPU for both containers", () => {
    const { game, streamer, spec } = podOf(aGameSession({ spec: { profile: "Gpu" } }), {
      GPU_RESOURCE_NAME: "nvidia.com/gpu",
      GPU_CLAIM_TEMPLATE: "one-gpu",
      GPU_RUNTIME_CLASS: "nvidia",
    });
    expect(spec.resourceClaims).to.deep.equal([{ name: "gpu", resourceClaimTemplateName: "one-gpu" }]);
    for (const container of [game, streamer]) {
      expect(container.resources?.claims).to.deep.equal([{ name: "gpu" }]);
      expect(container.resources?.limits).to.not.have.property("nvidia.com/gpu");
      expect(environmentOf(container)).to.not.have.property("NVIDIA_VISIBLE_DEVICES");
    }
  });

  it("joins the groups of the node's device files, and configures no GPU for software rendering", () => {
    expect(
      podOf(aGameSession(), { GPU_RESOURCE_NAME: "amd.com/gpu", GPU_GROUPS: "44,105" }).spec.securityContext
        ?.supplementalGroups,
    ).to.deep.equal([44, 105]);
    const { spec, game, streamer } = podOf();
    expect(spec).to.not.have.any.keys("resourceClaims", "runtimeClassName");
    expect(spec.securityContext).to.not.have.property("supplementalGroups");
    for (const container of [game, streamer]) {
      expect(container.resources).to.not.have.property("claims");
      expect(environmentOf(container)).to.not.have.any.keys(
        "NVIDIA_VISIBLE_DEVICES",
        "NVIDIA_DRIVER_CAPABILITIES",
      );
    }
  });
});
