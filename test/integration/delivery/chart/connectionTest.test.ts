import { expect } from "chai";
import { readConfig } from "#streamer/connectionTest/config.ts";
import {
  renderingError,
  render as renderChart,
  templateOf,
  values,
} from "#test/support/chart/helmTemplate.ts";

interface Variable {
  name: string;
  value?: string;
  valueFrom?: { secretKeyRef?: { name: string; key: string }; fieldRef?: { fieldPath: string } };
}

interface Container {
  image: string;
  command?: string[];
  env: Variable[];
  ports: { containerPort: number; hostPort?: number; protocol?: string }[];
  securityContext: object;
}

interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string };
  spec?: {
    clusterIP?: string;
    template?: {
      spec: {
        automountServiceAccountToken?: boolean;
        serviceAccountName?: string;
        hostNetwork?: boolean;
        volumes?: object[];
        tolerations?: object[];
        securityContext: object;
        containers: Container[];
      };
    };
  };
}

const render = (...args: string[]): Promise<Manifest[]> =>
  renderChart<Manifest>(...values("bundled"), ...args);

function find(manifests: Manifest[], kind: string, name: string): Manifest {
  const found = manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (found === undefined) throw new Error(`The chart renders no ${kind} ${name}.`);
  return found;
}

describe("the chart's connection test", function () {
  this.timeout(60_000);

  it("runs on the game nodes with one UDP host port, and no other access to them or the cluster", async () => {
    const manifests = await render(
      "--set",
      "gameNodes.selector=games=yes",
      "--set",
      "media.connectionTestPort=31000",
      "--set",
      "media.announceAddress=203.0.113.7",
    );
    const spec = find(manifests, "DaemonSet", "joypod-connection-test").spec?.template?.spec;
    expect(spec).to.deep.include({
      automountServiceAccountToken: false,
      tolerations: [{ operator: "Exists" }],
    });
    expect(spec).to.not.have.any.keys("volumes", "serviceAccountName", "hostNetwork");
    expect(JSON.stringify(spec)).to.contain(
      '"matchExpressions":[{"key":"games","operator":"In","values":["yes"]}]',
    );
    expect(spec?.securityContext).to.deep.equal({
      runAsNonRoot: true,
      runAsUser: 10_001,
      runAsGroup: 10_001,
      seccompProfile: { type: "RuntimeDefault" },
    });
    const [container] = spec?.containers ?? [];
    expect(container?.image).to.match(/streamer/);
    expect(container?.ports.filter(({ hostPort }) => hostPort !== undefined)).to.deep.equal([
      { name: "media", containerPort: 31_000, hostPort: 31_000, protocol: "UDP" },
    ]);

    const env = Object.fromEntries(
      (container?.env ?? []).map(({ name, value, valueFrom }) => [
        name,
        value ?? valueFrom?.fieldRef?.fieldPath ?? valueFrom?.secretKeyRef?.key,
      ]),
    );
    expect(env).to.include({
      NODE_NAME: "spec.nodeName",
      HOST_IPS: "status.hostIPs",
      TICKET_PUBLIC_KEY: "publicKey",
    });
    const { addresses, udpPort, signalPort } = readConfig({
      ...env,
      HOST_IPS: "192.0.2.1",
      TICKET_PUBLIC_KEY: "A".repeat(43),
    });
    expect({ addresses, udpPort, signalPort }).to.deep.equal({
      addresses: ["203.0.113.7"],
      udpPort: 31_000,
      signalPort: 8080,
    });
  });

  it("is requested by the API under a name that resolves to all its pods, with a key whose public half they have", async () => {
    const manifests = await render("--set", "nodeAgent.namespace=agents");
    expect(find(manifests, "Service", "joypod-connection-test")).to.have.nested.include({
      "metadata.namespace": "agents",
      "spec.clusterIP": "None",
    });
    const variablesOf = (kind: string, name: string): Variable[] =>
      find(manifests, kind, name).spec?.template?.spec.containers[0]?.env ?? [];
    const api = variablesOf("Deployment", "joypod-api");
    expect(api).to.deep.include({
      name: "CONNECTION_TEST_URL",
      value: "http://joypod-connection-test.agents.svc:8080",
    });
    expect(api).to.deep.include({
      name: "CONNECTION_TEST_SIGNING_KEY",
      valueFrom: { secretKeyRef: { name: "joypod-connection-test", key: "signingKey" } },
    });
    expect(variablesOf("DaemonSet", "joypod-connection-test")).to.deep.include({
      name: "TICKET_PUBLIC_KEY",
      valueFrom: { secretKeyRef: { name: "joypod-connection-test-key", key: "publicKey" } },
    });
  });

  it("is absent from every template without its port", async () => {
    expect(await templateOf({}, ...values("bundled"), "--set", "media.connectionTestPort=0"))
      .to.not.contain("connection-test")
      .and.not.contain("CONNECTION_TEST");
  });

  it("rejects a port that belongs to sessions", async () => {
    for (const port of ["20000", "20500", "20999"]) {
      expect(
        await renderingError(...values("bundled"), "--set", `media.connectionTestPort=${port}`),
        port,
      ).to.contain("media.connectionTestPort is between media.portFirst and media.portLast");
    }
  });

  it("rejects a port below 1024, because the relay sends nothing to it", async () => {
    for (const port of ["1", "443", "1023"]) {
      expect(
        await renderingError(...values("bundled"), "--set", `media.connectionTestPort=${port}`),
        port,
      ).to.match(/media[./]connectionTestPort/);
    }
    expect(await templateOf({}, ...values("bundled"), "--set", "media.connectionTestPort=1024")).to.contain(
      "containerPort: 1024",
    );
  });
});
