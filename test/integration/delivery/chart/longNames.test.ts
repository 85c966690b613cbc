import { expect } from "chai";
import {
  environmentOf,
  renderOf,
  values,
  type KubeObject,
  type Manifest,
} from "#test/support/chart/helmTemplate.ts";

/** The longest that Helm takes. */
const longest = "a-release-whose-name-is-as-long-as-helm-lets-it-be-00";
/**
 * Of the name: that of a Job is a label of its pods, a Service's is a host, and Kubernetes makes a label of a
 * StatefulSet's and a hash of ten letters.
 */
const mostLetters: Readonly<Record<string, number>> = { Job: 63, Service: 63, StatefulSet: 52 };

const all = [
  "--set",
  "turn.enabled=true,turn.host=turn.example.com,turn.namespace=relays,metrics.serviceMonitor.enabled=true",
];
const bases = ["bundled", "external"] as const;

describe("the chart of a release with a long name", () => {
  const named = (manifests: Manifest[]): KubeObject[] =>
    manifests.filter(({ kind }) => mostLetters[kind] !== undefined);
  const hostOf = (address: string | undefined): string =>
    /^(?:http:\/\/)?([^.:]+)/.exec(address ?? "")?.[1] ?? "";

  for (const base of bases) {
    it(`gives no object a name that Kubernetes rejects, with the ${base} values`, async () => {
      expect(longest).to.have.length(53);
      const manifests = await renderOf({ release: longest }, ...values(base), ...all);
      const kinds = named(manifests);
      expect(kinds).to.not.be.empty;
      for (const {
        kind,
        metadata: { name },
      } of kinds) {
        expect(name, kind)
          .to.match(/^[a-z]([-a-z0-9]*[a-z0-9])?$/)
          .and.have.length.at.most(mostLetters[kind]!);
      }
      const keys = manifests.map(
        ({ kind, metadata: { name, namespace } }) => `${kind} ${namespace ?? ""}/${name}`,
      );
      expect(new Set(keys).size, "no two of a name").to.equal(keys.length);
    });
  }

  it("uses the Service names that its programs use", async () => {
    const manifests = await renderOf({ release: longest }, ...values("external"), ...all);
    const services = manifests.filter(({ kind }) => kind === "Service").map(({ metadata: { name } }) => name);
    expect(services).to.include(hostOf(environmentOf(manifests, "api").CONNECTION_TEST_URL));
    expect(services).to.include(hostOf(environmentOf(manifests, "operator").RELAY_CONTROL));
  });

  it("does not change the names of other releases", async () => {
    const release = "an-ordinary-release-of-a-company";
    for (const {
      kind,
      metadata: { name },
    } of named(await renderOf({ release }, ...values("bundled"), ...all))) {
      expect(name.startsWith(`${release}-`), name).to.equal(true);
      expect(name.slice(release.length), kind).to.match(
        kind === "Job" ? /^-(make-secrets|store-keys|drain|migrate)-[0-9a-f]{8}$/ : /^-[a-z-]+$/,
      );
    }
  });
});
