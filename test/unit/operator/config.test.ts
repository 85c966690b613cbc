import { expect } from "chai";
import { readConfig } from "#operator/config.ts";

const required = { STREAMER_IMAGE: "streamer:1", GAME_IMAGE: "game:1" };

describe("readConfig (operator)", () => {
  it("requires only the two images", () => {
    expect(readConfig(required)).to.deep.include({
      sessionsNamespace: "joypod-sessions",
      gameNodeSelector: [{ key: "nvidia.com/gpu.present", operator: "In", values: ["true"] }],
      softwareSlots: 2,
      mediaPorts: { first: 20_000, last: 20_999 },
      announceAddresses: [],
      relay: undefined,
      hasRelay: false,
      httpPort: 8081,
    });
  });

  it("treats an empty GPU resource as software rendering and an empty address as unset", () => {
    expect(readConfig({ ...required, GPU_RESOURCE_NAME: "", ANNOUNCE_ADDRESS: "" })).to.deep.include({
      gpu: undefined,
      announceAddresses: [],
    });
    expect(
      readConfig({ ...required, ANNOUNCE_ADDRESS: "203.0.113.1, 2001:db8::1" }).announceAddresses,
    ).to.deep.equal(["203.0.113.1", "2001:db8::1"]);
  });

  it("distinguishes the chart's relay from an external one", () => {
    expect(
      readConfig({ ...required, RELAY_CONTROL: "relay:8086", TURN_SECRET: "s".repeat(32) }),
    ).to.deep.include({ hasRelay: true, relay: { host: "relay", port: 8086, secret: "s".repeat(32) } });
    expect(readConfig({ ...required, RELAY: "on" })).to.deep.include({ hasRelay: true, relay: undefined });
  });

  it("gives one GPU to the game by default", () => {
    expect(readConfig(required).gpu).to.deep.equal({
      game: { resourceName: "nvidia.com/gpu", count: 1 },
      streamer: undefined,
      claim: undefined,
      runtimeClass: undefined,
      driverCapabilities: "graphics,video,compute,utility,display",
      groups: [],
    });
  });

  it("prefers per-container resources to the common one and a claim to both, and reads the groups of device files", () => {
    const both = {
      GPU_RESOURCE_NAME: "",
      GPU_GAME_RESOURCE_NAME: "a.example/gpu",
      GPU_STREAMER_RESOURCE_NAME: "b.example/gpu",
      GPU_STREAMER_COUNT: "2",
      GPU_GROUPS: "44, 105",
    };
    expect(readConfig({ ...required, ...both }).gpu).to.deep.include({
      game: { resourceName: "a.example/gpu", count: 1 },
      streamer: { resourceName: "b.example/gpu", count: 2 },
      groups: [44, 105],
    });
    expect(readConfig({ ...required, GPU_CLAIM_TEMPLATE: "gpu" }).gpu).to.deep.include({
      game: undefined,
      streamer: undefined,
      claim: { templateName: "gpu", slotsPerNode: undefined },
    });
    expect(
      readConfig({ ...required, GPU_RESOURCE_NAME: "", GPU_CLAIM_TEMPLATE: "gpu", GPU_SLOTS_PER_NODE: "3" })
        .gpu?.claim,
    ).to.deep.equal({ templateName: "gpu", slotsPerNode: 3 });
  });

  it("tolerates taints named after each resource, NVIDIA's usual taint, and the given ones", () => {
    const extra = { key: "games.example", operator: "Equal", value: "yes", effect: "NoExecute" };
    const { tolerations, sessionPod } = readConfig({
      ...required,
      GPU_RESOURCE_NAME: "a.example/gpu",
      GPU_STREAMER_RESOURCE_NAME: "b.example/gpu",
      GPU_STREAMER_COUNT: "1",
      GPU_TOLERATIONS: JSON.stringify([extra]),
    });
    expect(tolerations.map(({ key }) => key)).to.deep.equal([
      "b.example/gpu",
      "a.example/gpu",
      "nvidia.com/gpu",
      "games.example",
    ]);
    expect(tolerations.at(-1)).to.deep.equal(extra);
    expect(sessionPod.tolerations).to.deep.equal(tolerations);
  });

  it("prefers the runtime class of GPUs to that of session pods", () => {
    expect(readConfig({ ...required, SESSION_RUNTIME_CLASS: "gvisor" }).sessionPod.runtimeClass).to.equal(
      "gvisor",
    );
    expect(readConfig({ ...required, GPU_RUNTIME_CLASS: "nvidia" }).sessionPod.runtimeClass).to.equal(
      "nvidia",
    );
  });

  it("counts other pods unless disabled or session pods may preempt them", () => {
    expect(readConfig(required).countsOtherPods).to.equal(true);
    expect(readConfig({ ...required, COUNT_OTHER_PODS: "off" }).countsOtherPods).to.equal(false);
    expect(readConfig({ ...required, SESSION_POD_PRIORITY_CLASS: "games" }).countsOtherPods).to.equal(false);
  });

  it("returns the overhead of a session's pod", () => {
    expect(
      readConfig({ ...required, STREAMER_CPU: "1.5", STREAMER_MEMORY: "512Mi" }).podOverhead,
    ).to.deep.equal({ cpuMillicores: 1500, memoryBytes: 2 ** 29 });
  });

  it("reads the streamer's memory limit in whole bytes", () => {
    for (const [limit, bytes] of [
      ["1.5Gi", 1.5 * 2 ** 30],
      ["700M", 7e8],
      ["100000.5", 100_001],
    ] as const) {
      expect(
        readConfig({ ...required, STREAMER_MEMORY_LIMIT: limit }).sessionPod.streamer.memoryLimitBytes,
      ).to.equal(bytes);
    }
  });

  it("reads every form of label selector for game nodes", () => {
    const selector = "gpu, !spare , a=1,b.c/d==x,zone!=far, kind in (a,b ),kind notin ( c ),empty=";
    expect(readConfig({ ...required, GAME_NODE_SELECTOR: selector }).gameNodeSelector).to.deep.equal([
      { key: "gpu", operator: "Exists" },
      { key: "spare", operator: "DoesNotExist" },
      { key: "a", operator: "In", values: ["1"] },
      { key: "b.c/d", operator: "In", values: ["x"] },
      { key: "zone", operator: "NotIn", values: ["far"] },
      { key: "kind", operator: "In", values: ["a", "b"] },
      { key: "kind", operator: "NotIn", values: ["c"] },
      { key: "empty", operator: "In", values: [""] },
    ]);
    expect(readConfig({ ...required, GAME_NODE_SELECTOR: "" }).gameNodeSelector, "every node").to.deep.equal(
      [],
    );
  });

  it("reads additional labels and annotations of session pods", () => {
    const { sessionPod, sessionNodeSelector } = readConfig({
      ...required,
      SESSION_POD_LABELS: '{"team": "games"}',
      SESSION_POD_ANNOTATIONS: '{"example.com/cost": "play"}',
      SESSION_POD_NODE_SELECTOR: '{"pool": "new"}',
    });
    expect(sessionPod).to.deep.include({
      labels: { team: "games" },
      annotations: { "example.com/cost": "play" },
      nodeSelector: { pool: "new" },
    });
    expect(sessionNodeSelector).to.deep.equal({ pool: "new" });
    const known = { "karpenter.sh/do-not-disrupt": "true" };
    expect(
      readConfig({ ...required, SESSION_POD_ANNOTATIONS: JSON.stringify(known) }).sessionPod.annotations,
      "what Joypod says as well",
    ).to.deep.equal(known);
    expect(readConfig(required).sessionPod).to.deep.include({
      labels: {},
      annotations: {},
      nodeSelector: {},
    });
  });

  it("uses the lease in its own namespace", () => {
    expect(readConfig({ ...required, POD_NAMESPACE: "play", POD_NAME: "operator-1" }).leaderLease).to.include(
      { namespace: "play", name: "joypod-operator", identity: "operator-1" },
    );
  });

  it("accepts a ticket secret of at least 32 bytes, or none", () => {
    expect(readConfig(required).ticketSecret).to.equal(undefined);
    expect(
      readConfig({ ...required, TICKET_SECRET: Buffer.alloc(32, 5).toString("base64") }).ticketSecret,
    ).to.deep.equal(Buffer.alloc(32, 5));
    for (const wrong of ["short", Buffer.alloc(31, 5).toString("base64"), `${"A".repeat(60)}!`]) {
      expect(() => readConfig({ ...required, TICKET_SECRET: wrong }), wrong)
        .to.throw("TICKET_SECRET")
        .with.property("message")
        .that.does.not.contain(wrong);
    }
  });

  const internet = {
    ...required,
    GAME_NETWORK: "internet",
    INTERNET_NAMESERVERS: "192.0.2.53, 2001:db8::53",
    PROBE_IMAGE: "control-plane:1",
    POD_IP: "10.0.0.1",
  };

  it("probes the network only if games may have internet access", () => {
    expect(readConfig(required).networkProbe).to.equal(undefined);
    const { networkProbe, sessionPod } = readConfig(internet);
    expect(networkProbe).to.deep.include({
      image: "control-plane:1",
      target: { host: "10.0.0.1", port: 8081 },
    });
    expect(networkProbe?.tolerations, "as sessions have").to.deep.equal(sessionPod.tolerations);
    expect(sessionPod.nameservers).to.deep.equal(["192.0.2.53", "2001:db8::53"]);
  });

  const wrong: [string, Record<string, string>, RegExp][] = [
    ["no image", { GAME_IMAGE: "game:1" }, /STREAMER_IMAGE/],
    [
      "a selector that compares numbers",
      { ...required, GAME_NODE_SELECTOR: "gpus>2" },
      /"gpus>2" is not a label requirement[^]*GAME_NODE_SELECTOR/,
    ],
    [
      "a selector that names no value",
      { ...required, GAME_NODE_SELECTOR: "kind in ()x" },
      /write key, !key, key=value/,
    ],
    [
      "a selector with a parenthesis left open",
      { ...required, GAME_NODE_SELECTOR: "kind in (a,b" },
      /GAME_NODE_SELECTOR/,
    ],
    ["a selector that ends in a comma", { ...required, GAME_NODE_SELECTOR: "gpu," }, /GAME_NODE_SELECTOR/],
    [
      "labels that policies use to select session pods",
      { ...required, SESSION_POD_LABELS: '{"joypod.dev/network": "internet"}' },
      /joypod.dev\/network is reserved for Joypod[^]*SESSION_POD_LABELS/,
    ],
    [
      "labels that identify a pod's role",
      { ...required, SESSION_POD_LABELS: '{"app.kubernetes.io/component": "api"}' },
      /SESSION_POD_LABELS/,
    ],
    [
      "an annotation that weakens a container's confinement",
      {
        ...required,
        SESSION_POD_ANNOTATIONS: '{"container.apparmor.security.beta.kubernetes.io/game": "unconfined"}',
      },
      /SESSION_POD_ANNOTATIONS/,
    ],
    [
      "an annotation that lets a session be evicted",
      { ...required, SESSION_POD_ANNOTATIONS: '{"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}' },
      /SESSION_POD_ANNOTATIONS/,
    ],
    [
      "an annotation that lets Karpenter end a session",
      { ...required, SESSION_POD_ANNOTATIONS: '{"karpenter.sh/do-not-disrupt": "false"}' },
      /SESSION_POD_ANNOTATIONS/,
    ],
    ["labels that are not JSON", { ...required, SESSION_POD_LABELS: "team=games" }, /SESSION_POD_LABELS/],
    ["an invalid label", { ...required, SESSION_POD_LABELS: '{"team": "two words"}' }, /SESSION_POD_LABELS/],
    [
      "a reversed port range",
      { ...required, MEDIA_PORT_FIRST: "3000", MEDIA_PORT_LAST: "2000" },
      /MEDIA_PORT_FIRST is above/,
    ],
    [
      "a host name instead of an address",
      { ...required, ANNOUNCE_ADDRESS: "play.example" },
      /ANNOUNCE_ADDRESS/,
    ],
    ["a relay without its secret", { ...required, RELAY_CONTROL: "relay:8086" }, /TURN_SECRET/],
    [
      "a relay without a port",
      { ...required, RELAY_CONTROL: "relay", TURN_SECRET: "s".repeat(32) },
      /RELAY_CONTROL/,
    ],
    ["a relative root", { ...required, NODE_ROOT: "var/lib" }, /NODE_ROOT/],
    ["internet without nameservers", { ...internet, INTERNET_NAMESERVERS: "" }, /INTERNET_NAMESERVERS/],
    ["internet without a probe", { ...internet, PROBE_IMAGE: "", POD_IP: "" }, /PROBE_IMAGE[^]*POD_IP/],
    [
      "a nameserver given by name",
      { ...internet, INTERNET_NAMESERVERS: "dns.example" },
      /INTERNET_NAMESERVERS/,
    ],
    [
      "a GPU resource with a count of zero",
      { ...required, GPU_STREAMER_RESOURCE_NAME: "a.example/gpu" },
      /set it to 1 or more[^]*GPU_STREAMER_COUNT/,
    ],
    [
      "a GPU that no container takes",
      { ...required, GPU_GAME_COUNT: "0" },
      /leave GPU_RESOURCE_NAME empty[^]*GPU_GAME_COUNT/,
    ],
    [
      "a GPU that games cannot use",
      { ...required, GPU_GAME_COUNT: "0", GPU_STREAMER_COUNT: "1" },
      /GPU_RUNTIME_CLASS[^]*GPU_GAME_COUNT/,
    ],
    [
      "a claim together with a resource",
      { ...required, GPU_CLAIM_TEMPLATE: "gpu", GPU_GAME_RESOURCE_NAME: "a.example/gpu" },
      /GPU_GAME_RESOURCE_NAME/,
    ],
    ["counted slots without a claim", { ...required, GPU_SLOTS_PER_NODE: "2" }, /GPU_SLOTS_PER_NODE/],
    [
      "two runtime classes",
      { ...required, GPU_RUNTIME_CLASS: "nvidia", SESSION_RUNTIME_CLASS: "gvisor" },
      /SESSION_RUNTIME_CLASS/,
    ],
    ["root's group", { ...required, GPU_GROUPS: "44,0" }, /GPU_GROUPS/],
    [
      "tolerations that are not JSON",
      { ...required, GPU_TOLERATIONS: "games:NoSchedule" },
      /Write a list[^]*GPU_TOLERATIONS/,
    ],
    [
      "a toleration without key but with an operator other than Exists",
      { ...required, GPU_TOLERATIONS: '[{"operator": "Equal"}]' },
      /has no key[^]*GPU_TOLERATIONS/,
    ],
    ["a word instead of a number", { ...required, SOFTWARE_SLOTS: "two" }, /SOFTWARE_SLOTS/],
  ];
  for (const [what, environment, message] of wrong)
    it(`refuses ${what}`, () => expect(() => readConfig(environment)).to.throw(message));
});
