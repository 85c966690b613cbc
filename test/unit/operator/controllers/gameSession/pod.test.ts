import { expect } from "chai";
import { aDigest, aGameSession } from "#test/factories/gameSession.ts";
import { readConfig } from "#operator/config.ts";
import { buildPod } from "#operator/controllers/gameSession/pod.ts";

const images = { STREAMER_IMAGE: "streamer:1", GAME_IMAGE: "game:1" };
const place = { nodeName: "node1", mediaPort: 20_003, addresses: ["192.0.2.1", "2001:db8::1"], operatorPublicKey: `B${"A".repeat(42)}` };

function podOf(session = aGameSession(), environment: Record<string, string> = {}) {
  const pod = buildPod(session, place, readConfig({ GPU_RESOURCE_NAME: "", ...images, ...environment }).sessionPod);
  const [game] = pod.spec?.containers ?? [];
  const [streamer] = pod.spec?.initContainers ?? [];
  if (!pod.spec || !game || !streamer) throw new Error("The pod has no containers.");
  return { pod, spec: pod.spec, game, streamer };
}

const environmentOf = ({ env }: { env?: { name: string; value?: string }[] }): Record<string, string | undefined> =>
  Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]));

describe("buildPod", () => {
  it("is named after its session, owned by it, and kept until its termination report is read", () => {
    const { metadata } = podOf().pod;
    expect(metadata).to.deep.include({ name: "gs-aaaaaaaaaaaaaaaaaaaa", namespace: "joypod-sessions", finalizers: ["joypod.dev/usage"] });
    expect(metadata.ownerReferences).to.deep.equal([{
      apiVersion: "joypod.dev/v1alpha1", kind: "GameSession", name: "gs-aaaaaaaaaaaaaaaaaaaa", uid: "uid-of-gs-aaaaaaaaaaaaaaaaaaaa",
      controller: true, blockOwnerDeletion: true,
    }]);
    expect(metadata.labels).to.include({ "joypod.dev/game-session": "gs-aaaaaaaaaaaaaaaaaaaa", "joypod.dev/game": "the-question" });
  });

  it("holds no token and gives neither container any privilege", () => {
    const { spec, game, streamer } = podOf();
    expect(spec).to.include({ automountServiceAccountToken: false, enableServiceLinks: false, restartPolicy: "Never", terminationGracePeriodSeconds: 120 });
    expect(spec).to.not.have.property("activeDeadlineSeconds");
    expect(spec.securityContext).to.deep.include({ runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: "RuntimeDefault" } });
    for (const { securityContext } of [game, streamer]) {
      expect(securityContext).to.deep.equal({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } });
    }
  });

  it("gives the streamer the public keys of its session's tickets, and the game none", () => {
    const ticketPublicKey = "A".repeat(43);
    const { game, streamer } = podOf(aGameSession({ spec: { ticketPublicKey } }));
    expect(environmentOf(streamer)).to.include({ TICKET_PUBLIC_KEY: ticketPublicKey, OPERATOR_PUBLIC_KEY: place.operatorPublicKey, SESSION_ID: "gs-aaaaaaaaaaaaaaaaaaaa" });
    expect(environmentOf(game)).to.not.have.any.keys("TICKET_PUBLIC_KEY", "OPERATOR_PUBLIC_KEY");
  });

  it("lets the streamer of a session that was launched before there were tickets ask for none", () => {
    expect(environmentOf(podOf().streamer)).to.include({ TICKET_PUBLIC_KEY: "none", OPERATOR_PUBLIC_KEY: place.operatorPublicKey });
  });

  it("lets a game write to nothing but memory that has a size", () => {
    const { spec, game } = podOf();
    const writable = (game.volumeMounts ?? []).filter(({ readOnly }) => readOnly !== true).map(({ name }) => name);
    expect(writable).to.include.members(["saves", "game-tmp"]);
    for (const name of writable) {
      const volume = spec.volumes?.find((candidate) => candidate.name === name);
      expect(volume?.emptyDir, name).to.have.all.keys("medium", "sizeLimit");
      expect(volume?.emptyDir, name).to.include({ medium: "Memory" });
    }
  });

  it("is pinned by affinity, so that the scheduler counts, and stays on an unreachable node until the operator gives that up", () => {
    const { spec } = podOf();
    expect(spec).to.not.have.property("nodeName");
    expect(spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms).to.deep.equal([
      { matchFields: [{ key: "metadata.name", operator: "In", values: ["node1"] }] }]);
    for (const key of ["node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"]) {
      expect(spec.tolerations, "without a limit").to.deep.include({ key, operator: "Exists", effect: "NoExecute" });
    }
    expect(spec.tolerations).to.deep.include({ key: "nvidia.com/gpu", operator: "Exists", effect: "NoSchedule" });
  });

  it("opens the network only to a session that is to have it, with nameservers of its own", () => {
    const closed = podOf();
    expect(closed.pod.metadata.labels).to.not.have.property("joypod.dev/network");
    expect(environmentOf(closed.game)).to.not.have.property("GAME_NETWORK");
    expect(closed.spec).to.not.have.any.keys("dnsPolicy", "dnsConfig");
    const open = podOf(aGameSession({ spec: { network: "Internet" } }), {
      GAME_NETWORK: "internet", INTERNET_NAMESERVERS: "192.0.2.53", PROBE_IMAGE: "control-plane:1", POD_IP: "10.0.0.1",
    });
    expect(open.pod.metadata.labels).to.include({ "joypod.dev/network": "internet", "joypod.dev/game-session": "gs-aaaaaaaaaaaaaaaaaaaa" });
    expect(environmentOf(open.game)).to.include({ GAME_NETWORK: "internet" });
    expect(open.spec).to.deep.include({ dnsPolicy: "None", dnsConfig: { nameservers: ["192.0.2.53"] } });
  });

  it("mounts the game read-only, and the session's folder on the node in the streamer alone, from directories that must exist", () => {
    const { spec, game, streamer } = podOf();
    expect(spec.volumes?.filter(({ hostPath }) => hostPath)).to.deep.equal([
      { name: "game", hostPath: { path: `/var/lib/joypod/v1/objects/${aDigest}/content`, type: "Directory" } },
      { name: "spool", hostPath: { path: "/var/lib/joypod/v1/sessions/gs-aaaaaaaaaaaaaaaaaaaa", type: "Directory" } },
    ]);
    expect(game.volumeMounts).to.deep.include({ name: "game", mountPath: "/game", readOnly: true });
    expect(game.volumeMounts?.map(({ name }) => name)).to.not.include("spool");
    expect(streamer.volumeMounts).to.deep.include({ name: "spool", mountPath: "/spool" });
    expect(streamer.volumeMounts?.map(({ name }) => name)).to.not.include("game");
  });

  it("tells the streamer its port, address and picture", () => {
    const { streamer, game } = podOf();
    expect(streamer).to.include({ restartPolicy: "Always" });
    expect(environmentOf(streamer)).to.include({
      DISPLAY: ":99", SIGNAL_PORT: "8080", UDP_PORT: "20003", ANNOUNCE_ADDRESS: "192.0.2.1,2001:db8::1", WIDTH: "1280", HEIGHT: "720", FPS: "60",
      START_KBPS: "4000", MAX_KBPS: "8000", CODECS: "h264,vp8", PROFILE: "software", RUN_DIR: "/run/session", TERMINATION_LOG: "/dev/termination-log",
    });
    expect(streamer.ports, "the kubelet maps no host ports of sidecars").to.deep.equal([{ name: "signal", containerPort: 8080, protocol: "TCP" }]);
    expect(game.ports).to.deep.equal([{ name: "media", containerPort: 20_003, hostPort: 20_003, protocol: "UDP" }]);
  });

  it("starts the launcher when the saves are there, with the engine's folder, the saves as home and the gamepad's shim", () => {
    const { game } = podOf();
    expect(game.args).to.deep.equal(["/game/run.sh"]);
    expect(environmentOf(game)).to.include({
      ENGINE_DIR: "/game/engine", HOME: "/session/save", AWAIT_DIRECTORY: "/session/save", LIBGL_ALWAYS_SOFTWARE: "1",
      JOYPOD_GAMEPAD: "/run/session/pad0", SDL_JOYSTICK_DEVICE: "/run/session/pad0", LD_PRELOAD: "/usr/local/lib/joypod/gamepad.so",
    });
    expect(game.resources).to.deep.equal({ requests: { cpu: "500m", memory: "805306368" }, limits: { memory: "805306368" } });
  });

  it("asks for one GPU where there is a GPU resource, and renders on it", () => {
    const { game, streamer, spec } = podOf(aGameSession({ spec: { profile: "Gpu" } }), { GPU_RESOURCE_NAME: "amd.com/gpu" });
    expect(game.resources?.limits).to.include({ "amd.com/gpu": "1" });
    expect(environmentOf(game)).to.not.have.property("LIBGL_ALWAYS_SOFTWARE");
    expect(environmentOf(streamer)).to.include({ PROFILE: "gpu" });
    expect(spec.tolerations?.[0]).to.include({ key: "amd.com/gpu" });
  });
});
