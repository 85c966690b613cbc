import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { cp, readdir, readFile, rm } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { Agent, request } from "undici";
import { parseAllDocuments } from "yaml";
import {
  type CustomResourceDefinition,
  customResourceDefinitions,
  namespaces as namespaceType,
  type Namespace,
  type PolicyRule,
} from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { KubeTransport, type TransportOptions } from "#kube/client/transport.ts";
import { base64Of, CertificateAuthority, type KeyPair } from "../http/certificates.ts";
import { ChildProgram, freePort } from "../processes/childProgram.ts";
import { eventually } from "../clocks/eventually.ts";
import { grant } from "./kubeRoles.ts";
import { programPath, rareCollections, repositoryRoot } from "../processes/programs.ts";
import { temporaryFolder } from "../processes/temporaryFolder.ts";

const install = "run `make programs`, which builds it.";

/** Credentials in a kubeconfig. */
type Identity = KeyPair | { token: string };

/**
 * A real etcd and kube-apiserver of this test run, with RBAC and the repository's CRDs. There are no
 * controllers, no scheduler and no kubelet: owned objects are not garbage-collected, and pods do not change.
 */
export class KubeApiServer {
  /** Transport of an administrator. */
  readonly admin: KubeTransport;
  /** A kubeconfig file of the administrator. */
  readonly kubeconfigPath: string;
  readonly url: string;
  readonly #directory: string;
  readonly #authority: CertificateAuthority;
  readonly #administrator: KeyPair;
  readonly #programs: { etcd: ChildProgram; apiServer: ChildProgram };
  readonly #transports: KubeTransport[] = [];

  private constructor(
    url: string,
    directory: string,
    authority: CertificateAuthority,
    programs: { etcd: ChildProgram; apiServer: ChildProgram },
    administrator: KeyPair,
  ) {
    this.url = url;
    this.#directory = directory;
    this.#authority = authority;
    this.#programs = programs;
    this.#administrator = administrator;
    this.kubeconfigPath = this.#writeKubeconfig("admin", administrator);
    this.admin = KubeTransport.fromFile(this.kubeconfigPath);
  }

  static async start(): Promise<KubeApiServer> {
    const directory = temporaryFolder("test-kube");
    const authority = await CertificateAuthority.create();
    const etcd = await startEtcd(directory);
    const { apiServer, port } = await startApiServer(directory, authority, etcd.url);
    const administrator = await authority.client("joypod-test-admin", ["system:masters"]);
    const server = new KubeApiServer(
      `https://127.0.0.1:${port}`,
      directory,
      authority,
      { etcd: etcd.program, apiServer },
      administrator,
    );
    await eventually(
      () => server.admin.request({ method: "GET", path: "/api/v1/namespaces/default", deadlineMs: 1000 }),
      { timeoutMs: 30_000, what: "the namespace default" },
    );
    await server.#applyCustomResources();
    return server;
  }

  /** TLS credentials of the administrator. */
  get administratorTls(): { ca: string; cert: string; key: string } {
    const { certificateFile, keyFile } = this.#administrator;
    return {
      ca: readFileSync(this.#authority.certificateFile, "utf8"),
      cert: readFileSync(certificateFile, "utf8"),
      key: readFileSync(keyFile, "utf8"),
    };
  }

  /** The processes, for tests with a separate server that stop, start and pause them. */
  get programs(): { etcd: ChildProgram; apiServer: ChildProgram } {
    return this.#programs;
  }

  /**
   * Backs up the storage while the server is stopped. Returns a function that restores it, also while the
   * server is stopped.
   */
  async backUpStorage(): Promise<() => Promise<void>> {
    const storage = etcdFolder(this.#directory);
    const copy = `${storage}-copy`;
    await this.#whileStopped(() => cp(storage, copy, { recursive: true }));
    return () =>
      this.#whileStopped(async () => {
        await rm(storage, { recursive: true });
        await cp(copy, storage, { recursive: true });
      });
  }

  /** Returns the server's metrics in Prometheus' text format. */
  async metrics(): Promise<string> {
    const { ca, cert, key } = this.administratorTls;
    const dispatcher = new Agent({ connect: { ca, cert, key } });
    try {
      return await (await request(`${this.url}/metrics`, { dispatcher })).body.text();
    } finally {
      await dispatcher.close();
    }
  }

  /** Returns an administrator's transport with the given options. It is closed with the server. */
  transport(options: TransportOptions = {}): KubeTransport {
    return this.#open(this.kubeconfigPath, options);
  }

  /** Creates a namespace with a unique name. */
  async createNamespace(prefix = "test"): Promise<string> {
    const name = `${prefix}-${randomBytes(4).toString("hex")}`;
    await new ResourceClient<Namespace>(this.admin, namespaceType).create({ metadata: { name } });
    return name;
  }

  /**
   * Returns a transport for a user with a client certificate and these rules, in one namespace or
   * cluster-wide.
   */
  async asUser(
    user: string,
    rules: readonly PolicyRule[],
    namespace?: string,
  ): Promise<{ kubeconfigPath: string; transport: KubeTransport }> {
    await grant(this.admin, { kind: "User", name: user }, rules, namespace);
    return this.#identify(user, await this.#authority.client(user));
  }

  /**
   * Returns a transport for a service account with a token and these rules. A token bound to a pod contains
   * the pod's node, like that of a DaemonSet.
   */
  async asServiceAccount(
    account: { namespace: string; name: string },
    rules: readonly PolicyRule[],
    { roleNamespace, boundPod }: { roleNamespace?: string; boundPod?: { name: string; uid: string } } = {},
  ): Promise<{ kubeconfigPath: string; transport: KubeTransport }> {
    const { namespace, name } = account;
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}`;
    await this.admin.request({
      method: "PATCH",
      path,
      query: { fieldManager: "test", force: true },
      contentType: "application/apply-patch+yaml",
      body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } },
    });
    await grant(this.admin, { kind: "ServiceAccount", name, namespace }, rules, roleNamespace);
    const boundObjectRef = boundPod ? { apiVersion: "v1", kind: "Pod", ...boundPod } : undefined;
    const response = (await this.admin.request({
      method: "POST",
      path: `${path}/token`,
      body: {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds: 3600, boundObjectRef },
      },
    })) as { status: { token: string } };
    return this.#identify(`${namespace}-${name}`, { token: response.status.token });
  }

  /** Applies the CustomResourceDefinitions of a YAML file or text, and waits until they are served. */
  async applyCustomResources(yaml: string): Promise<void> {
    const client = new ResourceClient<CustomResourceDefinition>(this.admin, customResourceDefinitions);
    for (const document of parseAllDocuments(yaml)) {
      const definition = document.toJS() as CustomResourceDefinition;
      await client.apply(definition, { fieldManager: "test" });
      await eventually(
        async () => {
          const { status } = await client.get(definition.metadata);
          return status?.conditions?.some(
            ({ type, status: value }) => type === "Established" && value === "True",
          );
        },
        { what: `${definition.metadata.name} to be established` },
      );
      const { group, names, versions } = definition.spec;
      // The storage of a new kind is created asynchronously; until then, requests get 429.
      for (const { name } of versions)
        await this.admin.request({ method: "GET", path: `/apis/${group}/${name}/${names.plural}` });
    }
  }

  /** Stops the processes and closes connections. The shared server ends with the test process. */
  async stop(): Promise<void> {
    await Promise.all([this.admin, ...this.#transports].map((transport) => transport.close()));
    await this.#programs.apiServer.stop();
    await this.#programs.etcd.stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #whileStopped(change: () => Promise<void>): Promise<void> {
    const { etcd, apiServer } = this.#programs;
    await apiServer.stop();
    await etcd.stop();
    await change();
    await etcd.start();
    await apiServer.start();
  }

  async #applyCustomResources(): Promise<void> {
    const folder = join(repositoryRoot, "crds");
    const files = (await readdir(folder)).filter((file) => file.endsWith(".yaml"));
    for (const file of files) await this.applyCustomResources(await readFile(join(folder, file), "utf8"));
  }

  #identify(name: string, identity: Identity): { kubeconfigPath: string; transport: KubeTransport } {
    const kubeconfigPath = this.#writeKubeconfig(
      `${name.replaceAll(/[^\w-]/g, "-")}-${randomBytes(4).toString("hex")}`,
      identity,
    );
    return { kubeconfigPath, transport: this.#open(kubeconfigPath) };
  }

  #open(kubeconfigPath: string, options: TransportOptions = {}): KubeTransport {
    const transport = KubeTransport.fromFile(kubeconfigPath, options);
    this.#transports.push(transport);
    return transport;
  }

  #writeKubeconfig(name: string, identity: Identity): string {
    const user =
      "token" in identity
        ? { token: identity.token }
        : {
            "client-certificate-data": base64Of(identity.certificateFile),
            "client-key-data": base64Of(identity.keyFile),
          };
    const cluster = {
      server: this.url,
      "certificate-authority-data": base64Of(this.#authority.certificateFile),
    };
    const path = join(this.#directory, `${name}.kubeconfig`);
    // JSON is YAML.
    writeFileSync(
      path,
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        "current-context": "test",
        clusters: [{ name: "test", cluster }],
        users: [{ name: "test", user }],
        contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
      }),
      { mode: 0o600 },
    );
    return path;
  }
}

let shared: Promise<KubeApiServer> | undefined;

/**
 * Returns the shared API server of the run, which is started on first use. It ends with the test process; do
 * not stop it.
 */
export function sharedKubeApiServer(): Promise<KubeApiServer> {
  return (shared ??= KubeApiServer.start());
}

/** Starts a separate server, for tests that stop it. The caller must stop it. */
export function startKubeApiServer(): Promise<KubeApiServer> {
  return KubeApiServer.start();
}

function etcdFolder(directory: string): string {
  return join(directory, "etcd");
}

async function startEtcd(directory: string): Promise<{ program: ChildProgram; url: string }> {
  const [command, clientPort, peerPort] = await Promise.all([programPath("etcd"), freePort(), freePort()]);
  const url = `http://127.0.0.1:${clientPort}`;
  const peerUrl = `http://127.0.0.1:${peerPort}`;
  const program = new ChildProgram({
    command,
    args: [
      `--data-dir=${etcdFolder(directory)}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=default=${peerUrl}`,
      "--unsafe-no-fsync",
      "--log-level=warn",
    ],
    env: { ...process.env, ...rareCollections },
    isReady: async () => (await fetch(`${url}/health`)).ok,
    install,
  });
  await program.start();
  return { program, url };
}

async function startApiServer(
  directory: string,
  authority: CertificateAuthority,
  etcdUrl: string,
): Promise<{ apiServer: ChildProgram; port: number }> {
  const [command, port, serving, signing, probe] = await Promise.all([
    programPath("kube-apiserver"),
    freePort(),
    authority.server("kube-apiserver", ["IP:127.0.0.1", "DNS:localhost"]),
    authority.signingKey("service-accounts"),
    authority.client("probe", ["system:masters"]),
  ]);
  const apiServer = new ChildProgram({
    command,
    args: [
      `--etcd-servers=${etcdUrl}`,
      "--bind-address=127.0.0.1",
      `--secure-port=${port}`,
      `--cert-dir=${directory}`,
      `--tls-cert-file=${serving.certificateFile}`,
      `--tls-private-key-file=${serving.keyFile}`,
      `--client-ca-file=${authority.certificateFile}`,
      "--authorization-mode=RBAC",
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${signing.publicKeyFile}`,
      `--service-account-signing-key-file=${signing.keyFile}`,
      "--service-cluster-ip-range=10.0.0.0/24",
      // Otherwise pods would need a "default" service account, which only a controller creates.
      "--disable-admission-plugins=ServiceAccount",
      "--allow-privileged=true",
      "--endpoint-reconciler-type=none",
    ],
    env: { ...process.env, ...rareCollections },
    isReady: () => isServing(port, authority, probe),
    install,
  });
  await apiServer.start();
  return { apiServer, port };
}

/** Sends a TLS request without a KubeApiServer, which does not exist yet at this point. */
async function isServing(port: number, authority: CertificateAuthority, client: KeyPair): Promise<boolean> {
  const agent = new Agent({
    connect: {
      ca: readFileSync(authority.certificateFile),
      cert: readFileSync(client.certificateFile),
      key: readFileSync(client.keyFile),
    },
  });
  try {
    const response = await request(`https://127.0.0.1:${port}/readyz`, { dispatcher: agent });
    await response.body.dump();
    return response.statusCode === 200;
  } finally {
    await agent.destroy();
  }
}
