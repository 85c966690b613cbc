import { expect } from "chai";
import {
  NetworkPolicies,
  type NetworkEnd,
  type NetworkPolicy,
} from "#test/support/cluster/networkPolicies.ts";

const pod = (ip: string, labels: Record<string, string> = {}, namespace = "a"): NetworkEnd => ({
  ip,
  pod: { namespace, labels },
});
const [one, two] = [pod("10.0.0.1", { app: "one" }), pod("10.0.0.2", { app: "two", tier: "back" })];

function under(...specs: NetworkPolicy["spec"][]): NetworkPolicies {
  return new NetworkPolicies(
    specs.map((spec, index) => ({ metadata: { name: `p${index}` }, spec })),
    "a",
  );
}

describe("NetworkPolicies", () => {
  it("allow all traffic that no policy of the direction selects", () => {
    expect(under().allow({ from: one, to: two, port: 1 })).to.be.true;
    expect(
      under({ podSelector: { matchLabels: { app: "three" } }, policyTypes: ["Ingress", "Egress"] }).allow({
        from: one,
        to: two,
        port: 1,
      }),
    ).to.be.true;
    const elsewhere = new NetworkPolicies(
      [
        {
          metadata: { name: "p", namespace: "b" },
          spec: { podSelector: {}, policyTypes: ["Ingress", "Egress"] },
        },
      ],
      "a",
    );
    expect(elsewhere.allow({ from: one, to: two, port: 1 })).to.be.true;
  });

  it("are about ingress, and about egress where there are such rules, when no type is named", () => {
    const ingressOnly = under({ podSelector: { matchLabels: { app: "one" } } });
    expect([
      ingressOnly.allow({ from: two, to: one, port: 1 }),
      ingressOnly.allow({ from: one, to: two, port: 1 }),
    ]).to.deep.equal([false, true]);
    expect(
      under({ podSelector: { matchLabels: { app: "one" } }, egress: [] }).allow({
        from: one,
        to: two,
        port: 1,
      }),
    ).to.be.false;
  });

  it("are additive, and both ends have to allow the traffic", () => {
    const closed = { podSelector: {}, policyTypes: ["Egress"] as "Egress"[], egress: [] };
    const opened = {
      podSelector: { matchLabels: { app: "one" } },
      policyTypes: ["Egress"] as "Egress"[],
      egress: [{}],
    };
    expect(under(closed, opened).allow({ from: one, to: two, port: 1 })).to.be.true;
    expect(under(closed, opened).allow({ from: two, to: one, port: 1 })).to.be.false;
    expect(
      under(closed, opened, { podSelector: { matchLabels: { app: "two" } } }).allow({
        from: one,
        to: two,
        port: 1,
      }),
    ).to.be.false;
  });

  it("match labels by all four operators", () => {
    const selects = (operator: string, key: string, values: string[] = []): boolean =>
      !under({ podSelector: { matchExpressions: [{ key, operator, values }] } }).allow({
        from: one,
        to: two,
        port: 1,
      });
    expect([
      selects("In", "app", ["two", "x"]),
      selects("In", "app", ["x"]),
      selects("In", "none", ["x"]),
    ]).to.deep.equal([true, false, false]);
    expect([
      selects("NotIn", "app", ["two"]),
      selects("NotIn", "app", ["x"]),
      selects("NotIn", "none", ["x"]),
    ]).to.deep.equal([false, true, true]);
    expect([
      selects("Exists", "tier"),
      selects("Exists", "none"),
      selects("DoesNotExist", "tier"),
      selects("DoesNotExist", "none"),
    ]).to.deep.equal([true, false, false, true]);
  });

  it("match peers by namespace and labels together, and by labels in their own namespace alone", () => {
    const from = (peer: object, end: NetworkEnd): boolean =>
      under({ podSelector: {}, ingress: [{ from: [peer] }] }).allow({ from: end, to: two, port: 1 });
    const far = pod("10.0.0.3", { app: "one" }, "b");
    const isOne = { podSelector: { matchLabels: { app: "one" } } };
    expect([from(isOne, one), from(isOne, far), from({ namespaceSelector: {} }, far)]).to.deep.equal([
      true,
      false,
      true,
    ]);
    const inB = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "b" } } };
    expect([
      from({ ...inB, ...isOne }, far),
      from({ ...inB, ...isOne }, one),
      from({ ...inB, podSelector: { matchLabels: { app: "x" } } }, far),
    ]).to.deep.equal([true, false, false]);
    expect(from({ namespaceSelector: {} }, { ip: "10.0.0.3" }), "no pod").to.be.false;
  });

  it("match ranges of addresses and of ports", () => {
    const rules = under({
      podSelector: {},
      policyTypes: ["Egress"],
      egress: [
        {
          ports: [{ port: 80 }, { protocol: "UDP", port: 100, endPort: 110 }],
          to: [
            { ipBlock: { cidr: "192.0.2.0/24", except: ["192.0.2.128/25"] } },
            { ipBlock: { cidr: "2001:db8::/32" } },
          ],
        },
      ],
    });
    const reached = (ip: string, port = 80, protocol: "TCP" | "UDP" = "TCP"): boolean =>
      rules.allow({ from: one, to: { ip }, port, protocol });
    expect([
      reached("192.0.2.127"),
      reached("192.0.2.128"),
      reached("192.0.3.1"),
      reached("2001:db8::9"),
      reached("2001:db9::9"),
    ]).to.deep.equal([true, false, false, true, false]);
    expect([
      reached("192.0.2.1", 81),
      reached("192.0.2.1", 80, "UDP"),
      reached("192.0.2.1", 110, "UDP"),
      reached("192.0.2.1", 111, "UDP"),
    ]).to.deep.equal([false, false, true, false]);
  });
});
