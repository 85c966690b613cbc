import type { FreshCluster } from "./freshCluster.ts";

const password = "an-admins-own-password";
const pullSecret = "registry";

/** Addresses of an admin's own stores, from the cluster and from this machine. */
export interface OwnStores {
  databaseUrl: string;
  redisUrl: string;
  s3Endpoint: string;
  accessKey: string;
  secretKey: string;
}

interface Store {
  /** Name of the pod, and of its image in a release. */
  name: string;
  command?: string[];
  env: Record<string, string>;
  ready: object;
}

/** The registry folder of a version's images, and a file with the registry's password. */
export interface ImageSource {
  registry: string;
  version: string;
  authFile: string;
}

/**
 * Runs Postgres, Redis and MinIO outside the release, on the address of the control-plane node. Resolves when
 * all are ready.
 */
export async function startOwnStores(cluster: FreshCluster, source: ImageSource): Promise<OwnStores> {
  await cluster.kubectl([
    "create",
    "secret",
    "generic",
    pullSecret,
    "--type=kubernetes.io/dockerconfigjson",
    `--from-file=.dockerconfigjson=${source.authFile}`,
  ]);
  await cluster.kubectl(
    ["apply", "--filename", "-"],
    JSON.stringify({ apiVersion: "v1", kind: "List", items: stores.map((store) => podOf(store, source)) }),
  );
  await cluster.kubectl([
    "wait",
    "pod",
    "--selector",
    "app=own-store",
    "--for=condition=Ready",
    "--timeout=150s",
  ]);
  const host = (
    await cluster.kubectl(["get", "pod", "postgres", "--output", "jsonpath={.status.hostIP}"])
  ).trim();
  return {
    databaseUrl: `postgres://joypod:${password}@${host}:5432/joypod`,
    redisUrl: `redis://:${password}@${host}:6379`,
    s3Endpoint: `http://${host}:9000`,
    accessKey: "admin-of-minio",
    secretKey: password,
  };
}

const stores: readonly Store[] = [
  {
    name: "postgres",
    ready: { exec: { command: ["pg_isready", "-h", "127.0.0.1", "-U", "joypod"] } },
    env: {
      POSTGRES_USER: "joypod",
      POSTGRES_DB: "joypod",
      PGDATA: "/data/postgres",
      POSTGRES_PASSWORD: password,
    },
  },
  {
    name: "redis",
    ready: { tcpSocket: { port: 6379 } },
    env: {},
    command: ["redis-server", "--requirepass", password, "--dir", "/data", "--protected-mode", "no"],
  },
  {
    name: "minio",
    ready: { httpGet: { path: "/minio/health/ready", port: 9000 } },
    command: ["minio", "server", "/data", "--address", ":9000"],
    env: {
      HOME: "/tmp",
      MINIO_BROWSER: "off",
      MINIO_UPDATE: "off",
      MINIO_ROOT_USER: "admin-of-minio",
      MINIO_ROOT_PASSWORD: password,
    },
  },
];

function podOf({ name, command, env, ready }: Store, { registry, version }: ImageSource): object {
  const folders = { data: "/data", run: "/run/postgresql", tmp: "/tmp" };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", labels: { app: "own-store" } },
    spec: {
      hostNetwork: true,
      imagePullSecrets: [{ name: pullSecret }],
      nodeSelector: { "node-role.kubernetes.io/control-plane": "" },
      tolerations: [{ operator: "Exists" }],
      securityContext: { runAsUser: 10_000, runAsGroup: 10_000, fsGroup: 10_000 },
      containers: [
        {
          name,
          image: `${registry}/${name}:${version}`,
          ...(command === undefined ? {} : { command }),
          env: Object.entries(env).map(([variable, value]) => ({ name: variable, value })),
          readinessProbe: { ...ready, periodSeconds: 2 },
          volumeMounts: Object.entries(folders).map(([volume, mountPath]) => ({ name: volume, mountPath })),
        },
      ],
      volumes: Object.keys(folders).map((volume) => ({ name: volume, emptyDir: {} })),
    },
  };
}
