import { z } from "zod";
import { listMap, message, reasonName, timestamp } from "./schema.ts";

export const group = "joypod.dev";
export const version = "v1alpha1";
export const apiVersion = `${group}/${version}` as const;

export interface PrinterColumn {
  name: string;
  type: "string" | "integer" | "date" | "boolean";
  jsonPath: string;
  description: string;
  /** `kubectl get` shows columns above 0 only with `-o wide`. */
  priority?: number;
}

/** The content of the generated CustomResourceDefinition of a kind. */
export interface Kind {
  group: string;
  version: string;
  kind: string;
  plural: string;
  singular: string;
  shortNames: readonly string[];
  namespaced: boolean;
  description: string;
  spec: z.ZodType;
  status: z.ZodType;
  printerColumns: readonly PrinterColumn[];
  selectableFields: readonly string[];
}

/** The metadata fields that Joypod reads or writes. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  finalizers?: string[];
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

/** Shape of an object of a kind with the given spec and status. */
export interface KindObject<Spec, Status> {
  apiVersion: typeof apiVersion;
  kind: string;
  metadata: ObjectMeta;
  spec: Spec;
  status?: Status;
}

export const ConditionStatus = z.enum(["True", "False", "Unknown"]);
export type ConditionStatus = z.infer<typeof ConditionStatus>;

/** The conventional Kubernetes condition. */
export const Condition = z.strictObject({
  type: z.string().min(1).max(64).describe("Name of the condition."),
  status: ConditionStatus.describe("Whether the condition holds."),
  observedGeneration: z
    .int()
    .min(0)
    .optional()
    .describe("Generation of the object that the condition describes."),
  lastTransitionTime: timestamp.describe("Time of the last change of status."),
  reason: reasonName.describe("Machine-readable reason in CamelCase."),
  message: message.describe("Human-readable explanation."),
});
export type Condition = z.infer<typeof Condition>;

/** The `status.conditions` of every kind: a map by type, so that writers can own different conditions. */
export const conditions = listMap(
  z.array(Condition).max(16).describe("Latest observations of the object, by condition type."),
  "type",
);

/** The values of an object type. */
export type ValueOf<T> = T[keyof T];

/**
 * Describes a kind to the Kubernetes client. It has the shape of ResourceType in kube, which contracts cannot
 * import. `parse` is never set, because the API server validates objects against the same schemas.
 */
export interface KindResource<T> extends Pick<Kind, "group" | "version" | "plural" | "kind" | "namespaced"> {
  parse?: ((value: unknown) => T) | undefined;
  repeated?: { spec: readonly string[]; status: readonly string[] } | undefined;
}

/** Returns the resource of a kind. */
export function resourceOf<T>({ group, version, plural, kind, namespaced }: Kind): KindResource<T> {
  return { group, version, plural, kind, namespaced };
}
