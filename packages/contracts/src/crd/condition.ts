import { z } from "zod";
import { listMap, message, reasonName, timestamp } from "./schema.ts";

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
