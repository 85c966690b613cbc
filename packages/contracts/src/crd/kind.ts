import type { z } from "zod";

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
