import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { parse } from "yaml";
import { eventually } from "#test/support/clocks/eventually.ts";
import {
  chartFolder,
  render as renderChart,
  renderingError,
  values,
} from "#test/support/chart/helmTemplate.ts";
import { sharedKubeApiServer, type KubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { programPath, repositoryRoot } from "#test/support/processes/programs.ts";

const run = promisify(execFile);
const definitions = join(repositoryRoot, "test/support/cluster/prometheusOperator/crds.yaml");
const kinds = ["ServiceMonitor", "PodMonitor", "PrometheusRule"];

interface Monitoring {
  namespaceSelector?: { matchNames: string[] };
  selector?: { matchLabels: Record<string, string> };
  endpoints?: { port: string; interval?: string }[];
  podMetricsEndpoints?: { port: string }[];
  groups?: { rules: { annotations: { runbook_url: string } }[] }[];
  ports?: { name: string; targetPort: string }[];
  template?: {
    metadata: { labels: Record<string, string> };
    spec: { containers: { ports?: { name: string }[] }[] };
  };
}

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels: Record<string, string> };
  spec?: Monitoring;
  data?: Record<string, string>;
}

const argumentsOf = (set: string[]): string[] => [
  ...values("bundled"),
  "--set",
  "turn.enabled=true,turn.host=turn.example.com",
  ...set.flatMap((value) => ["--set", value]),
];
const render = (...set: string[]): Promise<Manifest[]> => renderChart<Manifest>(...argumentsOf(set));

const ofKind = (manifests: readonly Manifest[], kind: string): Manifest[] =>
  manifests.filter((manifest) => manifest.kind === kind);

/** Whether an object with these labels is selected. */
const selects = (selector: Record<string, string> | undefined, labels: Record<string, string>): boolean =>
  Object.entries(selector ?? {}).every(([name, value]) => labels[name] === value);

describe("the chart's metrics", function () {
  this.timeout(60_000);
  let server: KubeApiServer;

  before(async () => {
    server = await sharedKubeApiServer();
    await run(await programPath("kubectl"), [
      "--kubeconfig",
      server.kubeconfigPath,
      "apply",
      "--server-side",
      "-f",
      definitions,
    ]);
    for (const plural of ["servicemonitors", "podmonitors", "prometheusrules"]) {
      await eventually(
        async () =>
          await server.admin
            .request({ method: "GET", path: `/apis/monitoring.coreos.com/v1/${plural}` })
            .then(
              () => true,
              () => false,
            ),
        { what: `${plural} to be served` },
      );
    }
  });

  /** Has the API server check an object, and refuse fields that its kind does not have. */
  async function check({ apiVersion, kind, metadata, ...rest }: Manifest): Promise<void> {
    const [place, plural] =
      apiVersion === "v1"
        ? ["/api/v1", `${kind.toLowerCase()}s`]
        : [`/apis/${apiVersion}`, `${kind.toLowerCase()}s`];
    const body = { apiVersion, kind, ...rest, metadata: { ...metadata, namespace: "default" } };
    await server.admin.request({
      method: "POST",
      path: `${place}/namespaces/default/${plural}`,
      query: { dryRun: "All", fieldValidation: "Strict" },
      body,
    });
  }

  it("are not exposed by default, including with values of an earlier release", async () => {
    for (const manifests of [await render(), await render("metrics=null")]) {
      expect(
        manifests.filter(
          ({ kind, metadata: { name } }) => kinds.includes(kind) || /metrics|dashboards/.test(name),
        ),
      ).to.deep.equal([]);
    }
  });

  it("have a PodMonitor for each program, which selects its pods and one of their ports", async () => {
    const manifests = await render(
      "metrics.podMonitor.enabled=true",
      "metrics.podMonitor.labels.release=prom",
    );
    const monitors = ofKind(manifests, "PodMonitor");
    expect(
      monitors.map(({ metadata, spec }) => [metadata.name, spec?.namespaceSelector?.matchNames]),
    ).to.deep.equal([
      ["joypod-api", ["joypod"]],
      ["joypod-operator", ["joypod"]],
      ["joypod-node-agent", ["joypod-nodes"]],
      ["joypod-turn", ["joypod-turn"]],
    ]);
    const workloads = manifests.filter(({ kind }) => kind === "Deployment" || kind === "DaemonSet");
    for (const monitor of monitors) {
      const { metadata, spec } = monitor;
      const selected = workloads.filter((workload) =>
        selects(spec?.selector?.matchLabels, workload.spec?.template?.metadata.labels ?? {}),
      );
      expect(
        selected.map((workload) => [workload.metadata.name, workload.metadata.namespace ?? "joypod"]),
      ).to.deep.equal([[metadata.name, spec?.namespaceSelector?.matchNames[0]]]);
      const ports = selected[0]?.spec?.template?.spec.containers.flatMap(
        (container) => container.ports?.map(({ name }) => name) ?? [],
      );
      expect(ports).to.include(spec?.podMetricsEndpoints?.[0]?.port);
      expect(metadata.labels).to.include({ release: "prom" });
      await check(monitor);
    }
  });

  it("have a ServiceMonitor and its Service for each program", async () => {
    const manifests = await render(
      "metrics.serviceMonitor.enabled=true",
      "metrics.serviceMonitor.interval=15s",
      "metrics.serviceMonitor.labels.team=games",
    );
    const monitors = ofKind(manifests, "ServiceMonitor");
    expect(monitors).to.have.length(4);
    for (const monitor of monitors) {
      const { metadata, spec } = monitor;
      const services = ofKind(manifests, "Service").filter(
        (service) =>
          selects(spec?.selector?.matchLabels, service.metadata.labels) &&
          (service.metadata.namespace ?? "joypod") === spec?.namespaceSelector?.matchNames[0],
      );
      expect(services.map((service) => service.metadata.name)).to.deep.equal([`${metadata.name}-metrics`]);
      expect(services[0]?.spec?.ports?.map(({ name }) => name)).to.deep.equal([spec?.endpoints?.[0]?.port]);
      expect(spec?.endpoints?.[0]?.interval).to.equal("15s");
      expect(metadata.labels).to.include({ team: "games" });
      await check(monitor);
      for (const service of services) await check(service);
    }
  });

  it("have the alerts as a PrometheusRule with links to the documentation", async () => {
    const [rule, ...others] = ofKind(
      await render(
        "metrics.rules.enabled=true",
        "metrics.rules.labels.release=prom",
        "metrics.rules.runbookUrl=https://wiki.example.com/joypod",
      ),
      "PrometheusRule",
    );
    expect(others).to.deep.equal([]);
    if (rule === undefined) throw new Error("The chart renders no PrometheusRule.");
    const { groups } = parse(readFileSync(join(chartFolder, "files/alerts.yaml"), "utf8")) as {
      groups: object[];
    };
    const links =
      rule.spec?.groups?.flatMap(({ rules }) => rules.map(({ annotations }) => annotations.runbook_url)) ??
      [];
    for (const link of links) expect(link).to.match(/^https:\/\/wiki\.example\.com\/joypod#joypod[a-z]+$/);
    // What is absent of this installation may be there of another.
    const ofThisOne = JSON.stringify(groups).replaceAll(
      "absent(joypod_leader{",
      String.raw`absent(joypod_leader{namespace=\"joypod\",`,
    );
    expect(
      JSON.parse(
        JSON.stringify(rule.spec?.groups).replaceAll(
          "https://wiki.example.com/joypod#",
          "docs/operations.md#",
        ),
      ),
    ).to.deep.equal(JSON.parse(ofThisOne));
    expect(rule.metadata.labels).to.include({ release: "prom" });
    await check(rule);
  });

  it("have the unchanged dashboards where Grafana's sidecar finds them", async () => {
    const [map] = ofKind(await render("metrics.dashboards.enabled=true"), "ConfigMap").filter(
      ({ metadata }) => metadata.name === "joypod-dashboards",
    );
    if (map === undefined) throw new Error("The chart renders no dashboards.");
    expect(map.metadata.labels).to.include({ grafana_dashboard: "1" });
    for (const name of ["platform", "session"]) {
      expect(JSON.parse(map.data?.[`joypod-${name}.json`] ?? "")).to.deep.equal(
        JSON.parse(readFileSync(join(chartFolder, `files/dashboards/${name}.json`), "utf8")),
      );
    }
    await check(map);
  });

  it("have the configured selector labels instead of the common labels", async () => {
    for (const monitor of ["podMonitor", "serviceMonitor"]) {
      const manifests = await render(
        `metrics.${monitor}.enabled=true`,
        "metrics.rules.enabled=true",
        "metrics.dashboards.enabled=true",
        "commonLabels.release=all",
        "commonLabels.grafana_dashboard=none",
        "commonLabels.team=games",
        ...[monitor, "rules"].map((name) => `metrics.${name}.labels.release=prom`),
      );
      const selected = manifests.filter(
        ({ kind, metadata: { name } }) => kinds.includes(kind) || name === "joypod-dashboards",
      );
      expect(selected).to.have.length(6);
      for (const {
        kind,
        metadata: { labels },
      } of selected) {
        expect(labels, kind).to.include(
          kind === "ConfigMap"
            ? { grafana_dashboard: "1", release: "all", team: "games" }
            : { grafana_dashboard: "none", release: "prom", team: "games" },
        );
      }
    }
  });

  it("are not scraped twice", async () => {
    expect(
      await renderingError(
        ...argumentsOf(["metrics.podMonitor.enabled=true", "metrics.serviceMonitor.enabled=true"]),
      ),
    ).to.contain("Enable one of them");
  });

  it("are rejected with a field that the kind does not have", async () => {
    const [monitor] = ofKind(await render("metrics.podMonitor.enabled=true"), "PodMonitor");
    if (monitor === undefined) throw new Error("The chart renders no PodMonitor.");
    const { podMetricsEndpoints: endpoints, ...spec } = monitor.spec ?? {};
    const error: unknown = await check({ ...monitor, spec: { ...spec, endpoints: endpoints ?? [] } }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error)
      .to.be.instanceOf(Error)
      .with.property("message")
      .that.matches(/unknown field/);
  });
});
