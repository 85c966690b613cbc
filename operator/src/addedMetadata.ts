import { z } from "zod";
import { labelKey, labelValue } from "#kube/api/labelSelector.ts";

/** Labels that services, network policies and admission policies select pods by. */
const ownLabels =
  /^(app\.kubernetes\.io\/(name|instance|component|part-of|managed-by|version)$|helm\.sh\/|joypod\.dev\/)/;
/**
 * Joypod's annotations, that by which the Cluster Autoscaler leaves sessions alone, and those that change
 * what a container may do.
 */
const ownAnnotations = new RegExp(
  "^(joypod\\.dev/|cluster-autoscaler\\.kubernetes\\.io/safe-to-evict$" +
    "|(container\\.apparmor\\.security\\.beta|container\\.seccomp\\.security\\.alpha|seccomp\\.security\\.alpha)\\.kubernetes\\.io/)",
);

const namedValues = (value: z.ZodString) =>
  z
    .string()
    .default("{}")
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        context.addIssue('is no JSON: write an object of names and values, such as {"team": "games"}');
        return z.NEVER;
      }
    })
    .pipe(
      z.record(
        z
          .string()
          .regex(
            labelKey,
            "is not a valid name. Use letters, digits, '-', '_' and '.', after an optional domain and '/'",
          ),
        value,
      ),
    );

const without =
  (own: RegExp) =>
  (added: Record<string, string>, context: z.RefinementCtx): void => {
    for (const key of Object.keys(added).filter((key) => own.test(key)))
      context.addIssue({
        code: "custom",
        message: `${key} is reserved for Joypod or changes the pod's permissions. Remove it`,
      });
  };

const label = z
  .string()
  .regex(labelValue, "is not a valid label value. Use up to 63 letters, digits, '-', '_' and '.'");

/** Labels, as JSON, that session pods get beside Joypod's own. The setting must not name any of Joypod's. */
export const AddedLabels = namedValues(label).superRefine(without(ownLabels));
/**
 * Annotations, as JSON, that session pods get beside Joypod's own. The setting must not name any of Joypod's.
 */
export const AddedAnnotations = namedValues(z.string())
  .superRefine(without(ownAnnotations))
  .refine(
    // Joypod says the same, and did not always.
    ({ "karpenter.sh/do-not-disrupt": word }) => word === undefined || word === "true",
    'karpenter.sh/do-not-disrupt is "true" of sessions: leave it out',
  );
/** Labels, as JSON, of the game nodes that session pods may be placed on. */
export const NodeLabels = namedValues(label);
