import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { z } from "zod";
import type { SmallCluster } from "#test/support/cluster/smallCluster.ts";

const Images = z.object({ images: z.object({ postgres: z.string(), redis: z.string(), minio: z.string() }) });
const password = "an-admins-own-password";

/** How an admin's own stores are reached, from the cluster and from their machine. */
export interface OwnStores { databaseUrl: string; redisUrl: string; s3Endpoint: string; accessKey: string; secretKey: string }

interface Store {
  name: string;
  image: string;
  port: number;
  command?: string[];
  env: Record<string, string>;
  ready: object;
}

/** Runs Postgres, Redis and MinIO, which are no part of the release, on the address of the control-plane node; resolves when all are ready. */
export async function startOwnStores(cluster: SmallCluster, imagesFile: string): Promise<OwnStores> {
  const { images } = Images.parse(parse(await readFile(imagesFile, "utf8")));
  await cluster.kubectl(["apply", "--filename", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items: storesOf(images).map(podOf) }));
  await cluster.kubectl(["wait", "pod", "--selector", "app=own-store", "--for=condition=Ready", "--timeout=150s"]);
  const host = (await cluster.kubectl(["get", "pod", "postgres", "--output", "jsonpath={.status.hostIP}"])).trim();
  return {
    databaseUrl: `postgres://joypod:${password}@${host}:5432/joypod`, redisUrl: `redis://:${password}@${host}:6379`, s3Endpoint: `http://${host}:9000`,
    accessKey: "admin-of-minio", secretKey: password,
  };
}

function storesOf({ postgres, redis, minio }: z.infer<typeof Images>["images"]): Store[] {
  return [
    {
      name: "postgres", image: postgres, port: 5432, ready: { exec: { command: ["pg_isready", "-h", "127.0.0.1", "-U", "joypod"] } },
      env: { POSTGRES_USER: "joypod", POSTGRES_DB: "joypod", PGDATA: "/data/postgres", POSTGRES_PASSWORD: password },
    },
    { name: "redis", image: redis, port: 6379, ready: { tcpSocket: { port: 6379 } }, env: {}, command: ["redis-server", "--requirepass", password, "--dir", "/data", "--protected-mode", "no"] },
    {
      name: "minio", image: minio, port: 9000, ready: { httpGet: { path: "/minio/health/ready", port: 9000 } }, command: ["minio", "server", "/data", "--address", ":9000"],
      env: { HOME: "/tmp", MINIO_BROWSER: "off", MINIO_UPDATE: "off", MINIO_ROOT_USER: "admin-of-minio", MINIO_ROOT_PASSWORD: password },
    },
  ];
}

function podOf({ name, image, command, env, ready }: Store): object {
  const folders = { data: "/data", run: "/run/postgresql", tmp: "/tmp" };
  return {
    apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default", labels: { app: "own-store" } },
    spec: {
      hostNetwork: true,
      nodeSelector: { "node-role.kubernetes.io/control-plane": "" },
      tolerations: [{ operator: "Exists" }],
      securityContext: { runAsUser: 10_000, runAsGroup: 10_000, fsGroup: 10_000 },
      containers: [{
        name, image, imagePullPolicy: "Never", ...(command === undefined ? {} : { command }),
        env: Object.entries(env).map(([variable, value]) => ({ name: variable, value })),
        readinessProbe: { ...ready, periodSeconds: 2 },
        volumeMounts: Object.entries(folders).map(([volume, mountPath]) => ({ name: volume, mountPath })),
      }],
      volumes: Object.keys(folders).map((volume) => ({ name: volume, emptyDir: {} })),
    },
  };
}
