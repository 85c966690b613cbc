import { z } from "zod";
import { labelKey, labelValue } from "#kube/api/labelSelector.ts";

/** Labels that services, network policies and admission policies select pods by. */
const ownLabels =
  /^(app\.kubernetes\.io\/(name|instance|component|part-of|managed-by|version)$|helm\.sh\/|joypod\.dev\/)/;
/**
 * Annotations reserved for Joypod, the Cluster Autoscaler's safe-to-evict annotation, and those that change a
 * container's permissions.
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
        context.addIssue('is not valid JSON. Write an object of names and values, such as {"team": "games"}');
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

/** Labels, as a JSON object, added to session pods. Labels reserved for Joypod are rejected. */
export const AddedLabels = namedValues(label).superRefine(without(ownLabels));
/** Annotations, as a JSON object, added to session pods. Annotations reserved for Joypod are rejected. */
export const AddedAnnotations = namedValues(z.string())
  .superRefine(without(ownAnnotations))
  .refine(
    // Joypod sets the same value. Earlier configurations may still set it, so it is accepted.
    ({ "karpenter.sh/do-not-disrupt": word }) => word === undefined || word === "true",
    'karpenter.sh/do-not-disrupt must be "true" for sessions. Remove the annotation',
  );
/** Labels, as JSON, of the game nodes that session pods may be placed on. */
export const NodeLabels = namedValues(label);
