import { expect } from "chai";
import { lint, render as renderChart, renderingError, values } from "#test/support/chart/helmTemplate.ts";
import {
  NetworkPolicies,
  type NetworkEnd,
  type NetworkPolicy,
} from "#test/support/cluster/networkPolicies.ts";

interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: { secretKeyRef: { name: string; key: string } };
}
interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  spec?: {
    ports?: { name: string; port: number; protocol?: string }[];
    template?: {
      metadata: { labels: Record<string, string> };
      spec: {
        automountServiceAccountToken?: boolean;
        serviceAccountName?: string;
        containers: { name: string; env?: EnvVar[] }[];
      };
    };
  };
}

const render = (...args: string[]): Promise<Manifest[]> =>
  renderChart<Manifest>(...values("external"), ...args);
const errorOf = (...args: string[]): Promise<string> => renderingError(...values("external"), ...args);

const enabled = ["--set", "turn.enabled=true,turn.host=turn.example.com"];
const withTls = [...enabled, "--set", "turn.tls.existingSecret=turn-tls"];

function envOf(manifests: Manifest[], program: string): Map<string, EnvVar> {
  const found = manifests.find(
    ({ kind, metadata }) => kind === "Deployment" && metadata.name === `joypod-${program}`,
  );
  return new Map(
    (found?.spec?.template?.spec.containers[0]?.env ?? []).map((variable) => [variable.name, variable]),
  );
}

describe("the chart's relay", function () {
  this.timeout(60_000);

  it("exists only if enabled, together with its credentials", async () => {
    const manifests = await render();
    expect(manifests.filter(({ metadata }) => /turn/.test(`${metadata.name} ${metadata.namespace ?? ""}`))).to
      .be.empty;
    for (const program of ["api", "operator"])
      expect([...envOf(manifests, program).keys()].filter((name) => /TURN|RELAY/.test(name))).to.be.empty;
  });

  it("lints, including with values of a release without it", async () => {
    expect(await lint(...values("external"), ...withTls)).to.contain("0 chart(s) failed");
    expect(await render("--set", "turn=null")).to.not.be.empty;
  });

  it("has a separate restricted namespace and no service account token", async () => {
    const manifests = await render(...withTls);
    expect(
      manifests.find(({ kind, metadata }) => kind === "Namespace" && metadata.name === "joypod-turn")
        ?.metadata.labels,
    ).to.include({ "pod-security.kubernetes.io/enforce": "restricted" });
    const relay = manifests.find(
      ({ kind, metadata }) => kind === "Deployment" && metadata.name === "joypod-turn",
    );
    expect(relay?.metadata.namespace).to.equal("joypod-turn");
    expect(relay?.spec?.template?.spec)
      .to.include({ automountServiceAccountToken: false })
      .and.not.have.property("serviceAccountName");
    const service = manifests.find(
      ({ kind, metadata }) => kind === "Service" && metadata.name === "joypod-turn",
    );
    expect(service?.spec?.ports?.map(({ port, protocol }) => `${port}/${protocol}`)).to.deep.equal([
      "3478/UDP",
      "3478/TCP",
      "443/TCP",
    ]);
  });

  it("shares one secret with the API and the operator, which have its address", async () => {
    const manifests = await render(...withTls);
    const api = envOf(manifests, "api");
    expect(api.get("TURN_URLS")?.value).to.equal(
      "turn:turn.example.com:3478?transport=udp,turn:turn.example.com:3478?transport=tcp,turns:turn.example.com:443?transport=tcp",
    );
    for (const program of ["api", "operator", "turn"])
      expect(envOf(manifests, program).get("TURN_SECRET")?.valueFrom?.secretKeyRef, program).to.deep.equal({
        name: "joypod-turn",
        key: "secret",
      });
    expect(envOf(manifests, "operator").get("RELAY_CONTROL")?.value).to.equal(
      "joypod-turn-control.joypod-turn.svc:8086",
    );
    expect(envOf(await render(...enabled), "api").get("TURN_URLS")?.value).to.not.contain("turns:");
  });

  it("is replaced by an external relay if its secret is set", async () => {
    const manifests = await render("--set", "turn.external.existingSecret=provider");
    const api = envOf(manifests, "api");
    expect(api.get("TURN_URLS")?.valueFrom?.secretKeyRef).to.deep.equal({ name: "provider", key: "urls" });
    expect(api.get("TURN_SECRET")?.valueFrom?.secretKeyRef).to.deep.equal({
      name: "provider",
      key: "secret",
    });
    expect(manifests.some(({ metadata }) => metadata.namespace === "joypod-turn")).to.equal(false);
    expect(envOf(manifests, "operator").get("RELAY")?.value).to.equal("on");
  });

  it("rejects values that would not work, with a message about what to do", async () => {
    expect(await errorOf("--set", "turn.enabled=true")).to.contain("turn.host is empty: name the host");
    expect(await errorOf(...enabled, "--set", "turn.external.existingSecret=provider")).to.contain(
      "set one of them",
    );
    expect(await errorOf(...enabled, "--set", "turn.namespace=joypod-sessions")).to.contain(
      "needs a separate namespace",
    );
    expect(await errorOf(...enabled, "--set", "turn.host=https://turn.example.com")).to.contain("pattern");
  });

  it("reaches only UDP media ports if policies are enforced, and gets nodes only from the operator", async () => {
    const manifests = await render(...withTls);
    const policies = new NetworkPolicies(
      manifests.filter((manifest): manifest is Manifest & NetworkPolicy => manifest.kind === "NetworkPolicy"),
      "joypod",
    );
    const podOf = (name: string, ip: string): NetworkEnd => {
      const found = manifests.find(({ kind, metadata }) => kind === "Deployment" && metadata.name === name);
      return {
        ip,
        pod: {
          namespace: found?.metadata.namespace ?? "joypod",
          labels: found?.spec?.template?.metadata.labels ?? {},
        },
      };
    };
    const [relay, operator, api] = [
      podOf("joypod-turn", "10.244.0.7"),
      podOf("joypod-operator", "10.244.0.8"),
      podOf("joypod-api", "10.244.0.9"),
    ];
    const [player, node] = [{ ip: "203.0.113.9" }, { ip: "172.18.0.3" }];
    for (const port of [19_999, 20_000, 20_999])
      expect(policies.allow({ from: relay, to: node, protocol: "UDP", port }), String(port)).to.equal(true);
    for (const [to, protocol, port] of [
      [node, "TCP", 20_000],
      [node, "UDP", 19_998],
      [node, "UDP", 21_000],
      [node, "UDP", 53],
      [node, "TCP", 10_250],
      [node, "TCP", 443],
      [api, "TCP", 8080],
      [operator, "TCP", 8081],
      [{ ip: "169.254.169.254" }, "TCP", 80],
      [{ ip: "10.96.0.10" }, "UDP", 53],
    ] as const)
      expect(policies.allow({ from: relay, to, protocol, port }), `${protocol} ${port} of ${to.ip}`).to.equal(
        false,
      );
    for (const [protocol, port] of [
      ["UDP", 3478],
      ["TCP", 3478],
      ["TCP", 5349],
    ] as const)
      expect(policies.allow({ from: player, to: relay, protocol, port })).to.equal(true);
    expect(policies.allow({ from: operator, to: relay, port: 8086 })).to.equal(true);
    for (const from of [player, api, node])
      expect(policies.allow({ from, to: relay, port: 8086 })).to.equal(false);
  });

  // Cilium matches no address block against nodes, which is where media goes; the relay's own list holds it
  // to game nodes (turn/peers.go).
  it("is limited by its policy to destination ports, not addresses", async () => {
    const policy = (await render(...withTls)).find(
      (manifest): manifest is Manifest & NetworkPolicy =>
        manifest.kind === "NetworkPolicy" && manifest.metadata.name === "joypod-turn",
    );
    expect(policy?.spec.egress?.map((rule) => Object.keys(rule))).to.deep.equal([["ports"]]);
  });
});
