import { expect } from "chai";
import type { GameSessionSpec } from "#contracts/crd/gameSessionSpec.ts";
import { aGameSession } from "#test/factories/gameSession.ts";
import { render as renderChart, values } from "#test/support/chart/helmTemplate.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import {
  NetworkPolicies,
  type Connection,
  type NetworkEnd,
  type NetworkPolicy,
} from "#test/support/cluster/networkPolicies.ts";
import { readConfig } from "#operator/config.ts";
import { buildPod } from "#operator/controllers/gameSession/pod.ts";
import { buildProbePod, type ProbeRole } from "#operator/networkProbe/probePod.ts";

interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  spec?: { template?: { metadata: { labels: Record<string, string> } } };
}

const render = (...args: string[]): Promise<Manifest[]> =>
  renderChart<Manifest>(...values("bundled"), ...args);

function policiesOf(manifests: Manifest[]): NetworkPolicies {
  return new NetworkPolicies(manifests.filter(isNetworkPolicy), "joypod");
}

function isNetworkPolicy(manifest: Manifest): manifest is Manifest & NetworkPolicy {
  return manifest.kind === "NetworkPolicy";
}

const config = readConfig({
  STREAMER_IMAGE: "streamer",
  GAME_IMAGE: "game",
  GAME_NETWORK: "internet",
  INTERNET_NAMESERVERS: "203.0.113.53",
  PROBE_IMAGE: "control-plane",
  POD_IP: "10.244.0.9",
});
let addresses = 0;

function aPod(namespace: string, labels: Record<string, string>): NetworkEnd {
  addresses++;
  return { ip: `10.244.${addresses >> 8}.${addresses & 255}`, pod: { namespace, labels } };
}

function aSession(network: GameSessionSpec["network"]): NetworkEnd {
  const { metadata } = buildPod(
    aGameSession({ spec: { network } }),
    { nodeName: "node1", mediaPort: 20_000, addresses: ["192.0.2.1"], operatorPublicKey: "A".repeat(43) },
    config.sessionPod,
  );
  return aPod("joypod-sessions", metadata.labels ?? {});
}

function aProbe(role: ProbeRole): NetworkEnd {
  return aPod(
    "joypod-sessions",
    buildProbePod(role, "joypod-sessions", config.networkProbe!, []).metadata.labels ?? {},
  );
}

describe("the chart's network policies, if enforced,", function () {
  this.timeout(60_000);
  /** As they are by default, and with internet for games that ask for it. */
  let closed: NetworkPolicies;
  let open: NetworkPolicies;
  const programs = new Map<string, NetworkEnd>();

  before(async () => {
    const manifests = await render();
    closed = policiesOf(manifests);
    open = policiesOf(
      await render(
        "--set",
        "games.network=internet",
        "--set",
        "games.internetNameservers={203.0.113.53}",
        "--set",
        "games.deniedRanges={203.0.113.64/26,2600:1234::/32}",
      ),
    );
    for (const { metadata, spec } of manifests) {
      // The name of a Job ends with what it is made of.
      const name = metadata.name.replace(/-[0-9a-f]{8}$/, "");
      if (spec?.template !== undefined)
        programs.set(name, aPod(metadata.namespace ?? "joypod", spec.template.metadata.labels));
    }
    for (const { metadata } of manifests.filter(({ kind }) => kind === "Pod"))
      programs.set(metadata.name, aPod("joypod", metadata.labels ?? {}));
    expect([...programs.keys()]).to.have.members(
      [
        "api",
        "operator",
        "node-agent",
        "connection-test",
        "pre-pull",
        "postgres",
        "redis",
        "minio",
        "network-test",
        "node-test",
        "make-secrets",
        "store-keys",
        "drain",
      ].map((name) => `joypod-${name}`),
    );
  });

  function program(name: string): NetworkEnd {
    const found = programs.get(`joypod-${name}`);
    if (found === undefined) throw new Error(`The chart has no ${name}.`);
    return found;
  }

  const [session, other, internetSession, stranger, node] = [
    aSession("None"),
    aSession("None"),
    aSession("Internet"),
    aPod("elsewhere", { app: "shop" }),
    { ip: "172.18.0.3" },
  ];
  const browser = { ip: "203.0.113.9" };
  type Target = Omit<Connection, "from">;

  /** All that a game must not reach, whether it has the internet or not. */
  function inside(): Record<string, Target> {
    return {
      "the API server's service": { to: { ip: "10.96.0.1" }, port: 443 },
      "the API server": { to: { ip: "172.18.0.2" }, port: 6443 },
      "a kubelet": { to: node, port: 10_250 },
      "the cluster's nameserver": { to: { ip: "10.96.0.10" }, port: 53, protocol: "UDP" },
      "the cloud's metadata": { to: { ip: "169.254.169.254" }, port: 80 },
      Postgres: { to: program("postgres"), port: 5432 },
      Redis: { to: program("redis"), port: 6379 },
      MinIO: { to: program("minio"), port: 9000 },
      "the API": { to: program("api"), port: 8080 },
      "the API's metrics": { to: program("api"), port: 8083 },
      "the operator's metrics": { to: program("operator"), port: 8081 },
      "a node agent's metrics": { to: program("node-agent"), port: 8082 },
      "another session's streamer": { to: other, port: 8080 },
      "another session's media": { to: other, port: 20_000, protocol: "UDP" },
      "a pod that no policy protects": { to: stranger, port: 80 },
      "its node's own network": { to: { ip: "192.168.1.1" }, port: 80 },
      "a carrier's network": { to: { ip: "100.64.0.1" }, port: 80 },
      "all hosts at once": { to: { ip: "224.0.0.1" }, port: 80, protocol: "UDP" },
      "IPv6's own network": { to: { ip: "fd00::1" }, port: 443 },
      "IPv6's link": { to: { ip: "fe80::1" }, port: 443 },
      "IPv4 in IPv6": { to: { ip: "::ffff:10.96.0.1" }, port: 443 },
      "IPv4 behind NAT64": { to: { ip: "64:ff9b::a60:1" }, port: 443 },
      "IPv4 behind 6to4": { to: { ip: "2002:a60:1::1" }, port: 443 },
    };
  }
  const outside: Record<string, Target> = {
    "an IPv4 address": { to: browser, port: 443 },
    "a port of it": { to: browser, port: 25_565, protocol: "UDP" },
    "an IPv6 address": { to: { ip: "2600::1" }, port: 443 },
    "a public resolver": { to: { ip: "203.0.113.53" }, port: 53, protocol: "UDP" },
  };

  it("let a session pod reach nothing", () => {
    for (const policies of [closed, open]) {
      for (const [what, target] of Object.entries({ ...inside(), ...outside }))
        expect(policies.allow({ from: session, ...target }), what).to.be.false;
    }
  });

  it("let a session pod with internet reach public addresses and nothing else", () => {
    for (const [what, target] of Object.entries(outside))
      expect(open.allow({ from: internetSession, ...target }), what).to.be.true;
    for (const [what, target] of Object.entries(inside()))
      expect(open.allow({ from: internetSession, ...target }), what).to.be.false;
  });

  it("limit a session pod with internet to public ranges and those that an admin lists", () => {
    const publicNow = [
      "9.255.255.255",
      "11.0.0.0",
      "100.63.255.255",
      "100.128.0.0",
      "172.15.255.255",
      "172.32.0.0",
      "198.20.0.0",
      "223.255.255.255",
      "203.0.113.63",
      "203.0.113.128",
    ];
    const notPublic = [
      "0.0.0.1",
      "10.0.0.0",
      "10.255.255.255",
      "100.127.255.255",
      "127.0.0.1",
      "172.16.0.0",
      "172.31.255.255",
      "192.0.0.1",
      "192.0.2.1",
      "192.88.99.1",
      "198.19.255.255",
      "198.51.100.1",
      "239.0.0.1",
      "240.0.0.1",
      "255.255.255.255",
      "203.0.113.64",
      "203.0.113.127",
    ];
    const publicNow6 = ["2400::1", "2a00::1", "2600:1233::1", "3ffe::1"];
    const notPublic6 = [
      "::1",
      "::",
      "100::1",
      "1fff::1",
      "2001::1",
      "2001:db8::1",
      "2600:1234::1",
      "3fff::1",
      "4000::1",
      "fc00::1",
      "fec0::1",
      "ff02::1",
    ];
    const reached = [...publicNow, ...notPublic, ...publicNow6, ...notPublic6].filter((ip) =>
      open.allow({ from: internetSession, to: { ip }, port: 443 }),
    );
    expect(reached).to.deep.equal([...publicNow, ...publicNow6]);
  });

  it("let a session pod reach nothing if games get no internet, whatever its label", () => {
    for (const [what, target] of Object.entries(outside))
      expect(closed.allow({ from: internetSession, ...target }), what).to.be.false;
  });

  it("let only the API reach a connection test's responder, pages its UDP port, and the responder nothing", () => {
    const responder = program("connection-test");
    const reaches = (from: NetworkEnd, target: Omit<Target, "to">): boolean =>
      closed.allow({ from, to: responder, ...target });
    expect(reaches(program("api"), { port: 8080 })).to.be.true;
    for (const name of ["operator", "node-agent", "postgres", "network-test"])
      expect(reaches(program(name), { port: 8080 }), name).to.be.false;
    for (const from of [session, internetSession, stranger, browser])
      expect(reaches(from, { port: 8080 }), from.ip).to.be.false;
    expect(reaches(browser, { port: 19_999, protocol: "UDP" })).to.be.true;
    expect(reaches(browser, { port: 20_000, protocol: "UDP" })).to.be.false;
    for (const [what, target] of Object.entries({ ...inside(), ...outside }))
      expect(closed.allow({ from: responder, ...target }), what).to.be.false;
    const without = closed.without("joypod-connection-test");
    expect(without.allow({ from: stranger, to: responder, port: 8080 }), "without its policy").to.be.true;
    expect(without.allow({ from: responder, to: browser, port: 443 }), "without its policy").to.be.true;
  });

  it("let only API and operator reach a session's streamer", () => {
    const reach = (from: NetworkEnd): boolean =>
      [session, internetSession].some((to) => open.allow({ from, to, port: 8080 }));
    for (const name of ["api", "operator"]) expect(reach(program(name)), name).to.be.true;
    for (const name of ["node-agent", "postgres", "redis", "minio", "network-test"])
      expect(reach(program(name)), name).to.be.false;
    for (const from of [
      other,
      internetSession,
      stranger,
      node,
      browser,
      aProbe("control"),
      aProbe("covered"),
    ])
      expect(reach(from), from.ip).to.be.false;
    const pretender = aPod("joypod-sessions", program("api").pod!.labels);
    expect(reach(pretender), "labels of the API in another namespace").to.be.false;
  });

  it("let browsers reach the media ports over UDP", () => {
    for (const port of [20_000, 20_999])
      expect(closed.allow({ from: browser, to: session, port, protocol: "UDP" })).to.be.true;
    for (const [port, protocol] of [
      [19_999, "UDP"],
      [21_000, "UDP"],
      [20_000, "TCP"],
      [8080, "TCP"],
    ] as const) {
      expect(closed.allow({ from: browser, to: session, port, protocol }), `${port} ${protocol}`).to.be.false;
    }
  });

  it("let all clients reach the API, but only kubelets and Prometheus their ports", async () => {
    const gatherer = aPod("monitoring", { app: "prometheus" });
    const ports = { api: 8083, operator: 8081, "node-agent": 8082 };
    for (const from of [browser, stranger, gatherer])
      expect(closed.allow({ from, to: program("api"), port: 8080 })).to.be.true;
    for (const [name, port] of Object.entries(ports)) {
      for (const from of [browser, stranger, gatherer, session])
        expect(closed.allow({ from, to: program(name), port }), name).to.be.false;
    }
    const gathered = policiesOf(
      await render(
        "--set-json",
        'networkPolicies.metricsFrom=[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"monitoring"}}}]',
      ),
    );
    for (const [name, port] of Object.entries(ports)) {
      expect(gathered.allow({ from: gatherer, to: program(name), port }), name).to.be.true;
      for (const from of [browser, stranger, session])
        expect(gathered.allow({ from, to: program(name), port }), name).to.be.false;
    }
  });

  it("let only its clients reach a store", () => {
    const users = { postgres: ["api"], redis: ["api"], minio: ["api", "node-agent", "store-keys"] };
    const ports = { postgres: 5432, redis: 6379, minio: 9000 };
    for (const store of ["postgres", "redis", "minio"] as const) {
      const reaching = [...programs]
        .filter(
          ([name, from]) =>
            name !== `joypod-${store}` && closed.allow({ from, to: program(store), port: ports[store] }),
        )
        .map(([name]) => name);
      expect(reaching).to.have.members(users[store].map((name) => `joypod-${name}`));
      for (const from of [browser, stranger, session, internetSession])
        expect(open.allow({ from, to: program(store), port: ports[store] }), store).to.be.false;
    }
  });

  it("block node agents from Postgres and Redis wherever they are, and from nothing that agents need", async () => {
    const from = program("node-agent");
    const elsewhere = { ip: "192.0.2.40" };
    const needed: Record<string, Target> = {
      MinIO: { to: program("minio"), port: 9000 },
      "an object store elsewhere": { to: elsewhere, port: 443 },
      "the API server": { to: { ip: "172.18.0.2" }, port: 6443 },
      "the API server's service": { to: { ip: "10.96.0.1" }, port: 443 },
      "the cluster's nameserver": { to: { ip: "10.96.0.10" }, port: 53, protocol: "UDP" },
      "the pod of OpenShift's nameserver": { to: { ip: "10.128.0.10" }, port: 5353, protocol: "UDP" },
    };
    const denied: Record<string, Target> = {
      Postgres: { to: program("postgres"), port: 5432 },
      Redis: { to: program("redis"), port: 6379 },
      "Postgres elsewhere": { to: elsewhere, port: 5432 },
      "Redis elsewhere": { to: elsewhere, port: 6379 },
    };
    for (const [what, target] of Object.entries(needed))
      expect(closed.allow({ from, ...target }), what).to.be.true;
    for (const [what, target] of Object.entries(denied))
      expect(closed.allow({ from, ...target }), what).to.be.false;
    for (const store of ["postgres", "redis"]) {
      const rest = { postgres: 5432, redis: 6379 }[store]!;
      expect(
        closed.without(`joypod-${store}`).allow({ from, to: program(store), port: rest }),
        `${store}, by the agent's own policy`,
      ).to.be.false;
      expect(
        closed.without("joypod-node-agent-egress").allow({ from, to: program(store), port: rest }),
        `${store}, by its own policy`,
      ).to.be.false;
    }
    const others = policiesOf(
      await render("--set", "networkPolicies.nodeAgentDeniedPorts={65535,25060,1,25060,25061}"),
    );
    const closedPorts = [1, 2, 5432, 25_059, 25_060, 25_061, 25_062, 65_534, 65_535].filter(
      (port) => !others.allow({ from, to: elsewhere, port }),
    );
    expect(closedPorts).to.deep.equal([1, 25_060, 25_061, 65_535]);
    const none = policiesOf(await render("--set-json", "networkPolicies.nodeAgentDeniedPorts=[]"));
    expect(none.allow({ from, to: elsewhere, port: 5432 })).to.be.true;
  });

  it("also block sessions from programs and stores by ingress rules, except the public ports", () => {
    const unbound = open.without("joypod-session-pods").without("joypod-session-pods-internet");
    for (const [what, target] of Object.entries(inside())) {
      if (!["joypod", "joypod-nodes"].includes(target.to.pod?.namespace ?? "")) continue;
      for (const from of [session, internetSession])
        expect(unbound.allow({ from, ...target }), what).to.equal(what === "the API");
    }
  });

  it("block one of the operator's two probes and allow the other, only for the operator", () => {
    const [control, covered] = [aProbe("control"), aProbe("covered")];
    const health = { to: program("operator"), port: 8081 };
    expect(open.allow({ from: control, ...health })).to.be.true;
    expect(open.allow({ from: covered, ...health })).to.be.false;
    expect(
      open
        .without("joypod-session-pods")
        .without("joypod-session-pods-internet")
        .allow({ from: covered, ...health }),
      "nothing else holds it back",
    ).to.be.true;
    for (const [what, target] of Object.entries({ ...inside(), ...outside })) {
      if (target.to !== health.to) expect(open.allow({ from: control, ...target }), what).to.be.false;
    }
  });

  it("let the pod of `helm test` reach only the API", () => {
    const from = program("network-test");
    for (const [what, target] of Object.entries({ ...inside(), ...outside }))
      expect(closed.allow({ from, ...target }), what).to.equal(what === "the API");
  });

  it("are all needed: without any of them, some traffic is wrongly allowed or blocked", () => {
    const media = { to: session, port: 5000 };
    const changes: Record<string, [Connection, boolean]> = {
      "joypod-session-pods": [{ from: session, ...outside["an IPv4 address"]! }, true],
      "joypod-session-pods-internet": [{ from: internetSession, ...outside["an IPv4 address"]! }, false],
      "joypod-network-probe": [{ from: aProbe("control"), to: program("operator"), port: 8081 }, false],
      "joypod-network-test": [{ from: program("network-test"), to: { ip: "10.96.0.1" }, port: 443 }, true],
      "joypod-api": [{ from: stranger, to: program("api"), port: 8083 }, true],
      "joypod-operator": [{ from: stranger, to: program("operator"), port: 8081 }, true],
      "joypod-node-agent-egress": [
        { from: program("node-agent"), to: { ip: "192.0.2.40" }, port: 5432 },
        true,
      ],
      "joypod-node-agent": [{ from: stranger, to: program("node-agent"), port: 8082 }, true],
      "joypod-pre-pull": [{ from: program("pre-pull"), to: program("api"), port: 8080 }, true],
      "joypod-postgres": [{ from: stranger, to: program("postgres"), port: 5432 }, true],
      "joypod-redis": [{ from: stranger, to: program("redis"), port: 6379 }, true],
      "joypod-minio": [{ from: stranger, to: program("minio"), port: 9000 }, true],
    };
    for (const [name, [connection, isAllowedWithout]] of Object.entries(changes)) {
      expect(open.allow(connection), name).to.equal(!isAllowedWithout);
      expect(open.without(name).allow(connection), `without ${name}`).to.equal(isAllowedWithout);
    }
    expect(
      open.without("joypod-session-pods").allow({ from: stranger, ...media }),
      "a session without its policy",
    ).to.be.true;
    expect(() => open.without("no-such")).to.throw("no-such");
  });

  it("are accepted by an API server", async () => {
    const server = await sharedKubeApiServer();
    const namespace = await server.createNamespace("policies");
    const policies = (
      await render(
        "--set",
        "games.network=internet",
        "--set",
        "games.internetNameservers={203.0.113.53}",
        "--set",
        "games.deniedRanges={192.0.2.0/24,2600::/16,fd00::/8}",
      )
    ).filter(isNetworkPolicy);
    for (const policy of policies) {
      const body = { ...policy, metadata: { ...policy.metadata, namespace } };
      await server.admin.request({
        method: "POST",
        path: `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`,
        query: { dryRun: "All", fieldValidation: "Strict" },
        body,
      });
    }
    expect(policies).to.have.length(13);
  });

  it("are all covered by these tests", async () => {
    const names = (
      await render("--set", "games.network=internet", "--set", "games.internetNameservers={203.0.113.53}")
    )
      .filter(isNetworkPolicy)
      .map(({ metadata }) => metadata.name);
    expect(names).to.have.members(
      [
        "session-pods",
        "session-pods-internet",
        "network-probe",
        "network-test",
        "connection-test",
        "pre-pull",
        "api",
        "operator",
        "node-agent",
        "node-agent-egress",
        "postgres",
        "redis",
        "minio",
      ].map((name) => `joypod-${name}`),
    );
  });
});
