import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { chartFolder } from "./helmTemplate.ts";

interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  not?: Schema;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  propertyNames?: Schema;
  additionalProperties?: boolean | Schema;
}

/**
 * A chart value with its classes of valid and invalid values. Values that depend on each other are combined
 * at their common path.
 */
export interface ValueClasses {
  /** Path of names from the root of the values. */
  path: string[];
  valid: unknown[];
  invalid: unknown[];
}

/**
 * Samples of values that the schema describes only as object or string, or that depend on each other. Keys
 * are the end of the path; the longest match counts.
 */
const samples: Record<string, unknown[]> = {
  gpu: [
    {
      resourceName: "nvidia.com/gpu",
      streamer: { resourceName: "", count: 64 },
      groups: [44, 2_147_483_647],
      display: "xvfb",
      driverCapabilities: "",
    },
    {
      resourceName: "",
      game: { resourceName: "", count: 0 },
      streamer: { resourceName: "", count: 0 },
      runtimeClassName: "joypod-sample",
      display: "xwayland",
    },
    {
      resourceName: "",
      game: { resourceName: "a.example/gpu", count: 1 },
      streamer: { resourceName: "a.example/enc", count: 1 },
      tolerations: [{ operator: "Exists" }],
      display: "auto",
    },
    {
      claim: "one-gpu",
      slotsPerNode: 1000,
      tolerations: [{ key: "a", operator: "Equal", value: "b", effect: "NoExecute" }, { key: "c" }],
    },
  ],
  // Both false are rejected, because Helm would remove the definitions.
  crds: [
    { install: true, keep: true },
    { install: false, keep: true },
    { install: true, keep: false },
  ],
  "playLimits.timeZone": ["Europe/Berlin", "UTC"],
  "api.service": [
    {
      type: "ClusterIP",
      port: 65_535,
      nodePort: null,
      externalTrafficPolicy: "",
      annotations: { "a.example/b": "c" },
      loadBalancerClass: "",
      loadBalancerSourceRanges: [],
    },
    {
      type: "NodePort",
      port: 1,
      nodePort: 30_000,
      externalTrafficPolicy: "Local",
      loadBalancerClass: "",
      loadBalancerSourceRanges: [],
    },
    {
      type: "LoadBalancer",
      nodePort: 32_767,
      externalTrafficPolicy: "Cluster",
      loadBalancerClass: "a.example/lb",
      loadBalancerSourceRanges: ["192.0.2.0/24", "2001:db8::/32"],
    },
  ],
  "turn.service": [
    { type: "ClusterIP", loadBalancerClass: "", loadBalancerSourceRanges: [] },
    {
      type: "NodePort",
      externalTrafficPolicy: "Cluster",
      nodePort: 30_000,
      tlsNodePort: 30_001,
      loadBalancerClass: "",
      loadBalancerSourceRanges: [],
    },
    {
      type: "LoadBalancer",
      externalTrafficPolicy: "Local",
      loadBalancerClass: "a.example/lb",
      loadBalancerSourceRanges: ["0.0.0.0/0"],
    },
  ],
  "turn.external.existingSecret": [""],
  // Games get internet access only with nameservers and policies, which the first class lacks.
  "games.network": ["none", "internet", "internet", "internet", "internet"],
  "games.verify": ["never", "off", "report"],
  "networkPolicies.enabled": [false, true, true, true, true],
  "ingress.enabled": [false, true],
  "httpRoute.enabled": [false, true],
  cpus: [0.25, "1.5", 64],
  affinity: [
    {},
    {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "Exists" }] }],
        },
      },
    },
    {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { a: "b" } } },
        ],
      },
    },
  ],
  tolerations: [
    [],
    [{ key: "games", operator: "Exists" }],
    [{ operator: "Exists" }],
    [
      { key: "a.example/b", operator: "Equal", value: "", effect: "NoExecute" },
      { key: "c", value: "d" },
    ],
  ],
  topologySpreadConstraints: [
    null,
    [],
    [
      {
        maxSkew: 2,
        topologyKey: "zone",
        whenUnsatisfiable: "ScheduleAnyway",
        labelSelector: { matchLabels: { a: "b" } },
      },
    ],
  ],
  extraVolumes: [
    [],
    [
      { name: "more", emptyDir: {} },
      { name: "kept", secret: { secretName: "kept", optional: true } },
    ],
  ],
  extraVolumeMounts: [[]],
  resources: [
    {},
    { requests: { cpu: 0.5, memory: "1Gi" }, limits: { memory: "2Gi", "a.example/device": 1 } },
  ],
  priorityClassName: ["", "joypod-sample"],
  runtimeClassName: ["", "joypod-sample"],
  seLinuxOptions: [
    {},
    { level: "s0-s0:c0.c1023" },
    { level: "s0:c1,c2", type: "container_t", role: "system_r", user: "system_u" },
  ],
  "gameNodes.selector": [
    "gpu",
    "a=b",
    "gpu, !spare, zone in (a,b), kind notin (c), x!=y, e=",
    "joypod.dev/pool==games",
  ],
  // The port of connection tests must not be one of the sessions' ports.
  media: [
    { portFirst: 1024, portLast: 65_535, announceAddress: "", connectionTestPort: 0 },
    {
      portFirst: 1025,
      portLast: 20_999,
      announceAddress: "192.0.2.1, 2001:db8::1",
      connectionTestPort: 1024,
    },
    { portFirst: 20_000, portLast: 20_000, announceAddress: "203.0.113.7", connectionTestPort: 65_535 },
  ],
  "httpRoute.timeouts": [
    {},
    { request: "0s", backendRequest: "10s" },
    { request: "1m30s", backendRequest: "500ms" },
    { request: "1h" },
  ],
  "httpRoute.parentRefs": [
    [{ name: "public" }],
    [
      {
        group: "gateway.networking.k8s.io",
        kind: "Gateway",
        namespace: "gateways",
        name: "public",
        sectionName: "https",
        port: 443,
      },
    ],
  ],
  metricsFrom: [[], [{ podSelector: { matchLabels: { app: "prometheus" } } }]],
  baseUrl: [
    "http://localhost:8080",
    "https://play.example.com",
    "https://play.example.com:8443",
    "http://192.0.2.1",
  ],
  "turn.host": ["turn.example.com", "192.0.2.1", "[2001:db8::1]"],
  "sessions.namespace": ["joypod-sessions", "s"],
  "nodeAgent.namespace": ["joypod-nodes", "n"],
  "turn.namespace": ["joypod-turn", "t"],
  env: [{}, { EXTRA_VARIABLE: "x", ANOTHER: 1, THIRD: true }],
  "stores.storageClassName": ["", "fast"],
  "gpu.slotsPerNode": [0],
  "stream.codecs": [["VP8"], ["H264"], ["AV1", "H265", "H264", "VP8"]],
  // Only one kind of monitor. With bundled stores, neither CA certificates nor web identities (stores.test.ts
  // covers these).
  metrics: [
    {
      serviceMonitor: { enabled: true, labels: { release: "prometheus" }, interval: "30s" },
      rules: { enabled: true, labels: { release: "prometheus" } },
    },
    { podMonitor: { enabled: true, labels: {}, interval: "" }, dashboards: { enabled: true } },
  ],
  caSecret: [""],
  "s3.webIdentity": [
    { enabled: false },
    {
      enabled: false,
      roleArn: "arn:aws:iam::1:role/api",
      stsEndpoint: "https://sts.example.com",
      audience: "",
    },
  ],
};

/** Returns the classes of every value of the schema, the same for the same seed. */
export function valueClasses(seed: number): ValueClasses[] {
  const root = JSON.parse(readFileSync(join(chartFolder, "values.schema.json"), "utf8")) as Schema;
  const resolve = (schema: Schema): Schema =>
    schema.$ref === undefined ? schema : (root.$defs?.[schema.$ref.replace("#/$defs/", "")] ?? {});
  const walk = (given: Schema, path: string[]): ValueClasses[] => {
    const schema = resolve(given);
    const known = sampleOf(path);
    const parts = Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
      walk(property, [...path, name]),
    );
    if (known !== undefined)
      return [
        { path, valid: known, invalid: parts.length > 0 ? [] : wrongTypes(schema) },
        ...parts.map((part) => ({ ...part, valid: [] })),
      ];
    return parts.length > 0
      ? parts
      : [{ path, valid: validOf(schema, resolve, seed + path.join(".").length), invalid: invalidOf(schema) }];
  };
  return walk(root, []).filter(({ path }) => path[0] !== "global");
}

function sampleOf(path: string[]): unknown[] | undefined {
  // Shorter ends match more paths.
  const ends = path.map((_, index) => path.slice(index).join("."));
  const end = ends.find((candidate) => candidate in samples);
  if (end === "resources" && path[0] === "games") return undefined;
  return end === undefined ? undefined : samples[end];
}

const typesOf = ({ type }: Schema): string[] => (type === undefined ? [] : [type].flat());

function validOf(schema: Schema, resolve: (schema: Schema) => Schema, seed: number): unknown[] {
  if (schema.enum) return schema.enum;
  if (schema.anyOf?.some((part) => part.const !== undefined))
    return schema.anyOf.flatMap((part) =>
      part.const === undefined ? [part.minimum, part.maximum] : [part.const],
    );
  return typesOf(schema).flatMap((type): unknown[] => {
    switch (type) {
      case "boolean":
        return [true, false];
      case "null":
        return [null];
      case "integer":
        return [schema.minimum ?? 0, schema.maximum ?? 10 ** 12];
      case "number":
        return [schema.minimum ?? 0, schema.maximum ?? 10 ** 6];
      case "string":
        return textsOf(schema, seed);
      // None, and one of each of some forms of an item.
      case "array":
        return [
          [],
          ...(schema.items ? validOf(resolve(schema.items), resolve, seed).map((item) => [item]) : []),
        ];
      default:
        return schema.properties
          ? [partsOf(schema.properties, resolve, seed)]
          : [{}, entryOf(schema, resolve, seed)];
    }
  });
}

function textsOf({ pattern, minLength = 0, maxLength = 253, not }: Schema, seed: number): string[] {
  if (pattern === undefined) return [...(minLength === 0 ? [""] : []), "joypod-sample"];
  const fits = (text: string): boolean =>
    text.length >= minLength &&
    text.length <= maxLength &&
    !(not?.pattern !== undefined && new RegExp(not.pattern).test(text)) &&
    !(not?.enum?.includes(text) ?? false);
  return [...new Set(fc.sample(fc.stringMatching(new RegExp(pattern)).filter(fits), { seed, numRuns: 4 }))];
}

function partsOf(
  properties: Record<string, Schema>,
  resolve: (schema: Schema) => Schema,
  seed: number,
): object {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [
      name,
      validOf(resolve(property), resolve, seed).at(-1),
    ]),
  );
}

/** Returns an object with one entry whose name and value match the schema. */
function entryOf(
  { propertyNames, additionalProperties }: Schema,
  resolve: (schema: Schema) => Schema,
  seed: number,
): object {
  const [name = "joypod-sample"] = textsOf(propertyNames ?? {}, seed).slice(-1);
  const value =
    typeof additionalProperties === "object"
      ? validOf(resolve(additionalProperties), resolve, seed).at(-1)
      : "x";
  return { [name]: value };
}

function invalidOf(schema: Schema): unknown[] {
  const { minimum, maximum, pattern } = schema;
  const texts = ["a b", " ", "-", "{{ .Values }}", "$(HOME)", "ä", "a\nb", "0", "0.0Gi"].filter(
    (text) => pattern !== undefined && typesOf(schema).includes("string") && !new RegExp(pattern).test(text),
  );
  return [
    ...wrongTypes(schema),
    ...texts,
    ...(schema.enum ? ["no-such-word"] : []),
    // One of several numbers, or a range.
    ...(schema.anyOf ?? []).flatMap(({ minimum: least, maximum: most }) => [
      ...(least === undefined ? [] : [least - 1]),
      ...(most === undefined ? [] : [most + 1]),
    ]),
    ...(typesOf(schema).includes("integer")
      ? [
          ...(minimum === undefined ? [] : [minimum - 1]),
          ...(maximum === undefined ? [] : [maximum + 1]),
          1.5,
        ]
      : []),
  ];
}

/** Returns values of wrong types, without null, with which Helm removes a value. */
function wrongTypes(schema: Schema): unknown[] {
  const types = typesOf(schema);
  const others: [string, unknown][] = [
    ["array", [[]]],
    ["object", { a: {} }],
    ["boolean", true],
    ["string", "a word"],
  ];
  return others.filter(([type]) => types.length > 0 && !types.includes(type)).map(([, value]) => value);
}
