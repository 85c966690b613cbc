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
  /** Columns above 0 show only with `-o wide`. */
  priority?: number;
}

/** Everything that the generated CustomResourceDefinition of one kind says. */
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
  status: ConditionStatus,
  observedGeneration: z
    .int()
    .min(0)
    .optional()
    .describe("Generation of the object that this was concluded from."),
  lastTransitionTime: timestamp.describe("When the status last changed."),
  reason: reasonName.describe("One CamelCase word for programs."),
  message: message.describe("A sentence for people."),
});
export type Condition = z.infer<typeof Condition>;

/**
 * The `status.conditions` of every kind: a map by type, so that several writers can own different conditions.
 */
export const conditions = listMap(
  z.array(Condition).max(16).describe("What is known about the object, by condition type."),
  "type",
);

/** The values of an object type. */
export type ValueOf<T> = T[keyof T];

/**
 * What a Kubernetes client must know of a kind to read and write objects of type T. It has the shape of
 * kube's ResourceType, which contracts cannot import; `parse` is never set, as the API server has checked the
 * objects against the same schemas.
 */
export interface KindResource<T> extends Pick<Kind, "group" | "version" | "plural" | "kind" | "namespaced"> {
  parse?: ((value: unknown) => T) | undefined;
  repeated?: { spec: readonly string[]; status: readonly string[] } | undefined;
}

/** Returns the resource of a kind. */
export function resourceOf<T>({ group, version, plural, kind, namespaced }: Kind): KindResource<T> {
  return { group, version, plural, kind, namespaced };
}
