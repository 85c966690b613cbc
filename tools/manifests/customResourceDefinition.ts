import type { Kind } from "#contracts/crd/kind.ts";
import { structuralSchema } from "./structuralSchema.ts";

/** The CustomResourceDefinition of a kind, as a plain object. */
export function customResourceDefinition(kind: Kind): object {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${kind.plural}.${kind.group}` },
    spec: {
      group: kind.group,
      scope: kind.namespaced ? "Namespaced" : "Cluster",
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.singular,
        shortNames: kind.shortNames,
        categories: ["joypod"],
      },
      versions: [
        {
          name: kind.version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: kind.printerColumns,
          // The server drops an empty list from the stored object, so each server-side apply would write
          // again.
          ...(kind.selectableFields.length === 0
            ? {}
            : { selectableFields: kind.selectableFields.map((jsonPath) => ({ jsonPath })) }),
          schema: {
            openAPIV3Schema: {
              type: "object",
              description: kind.description,
              required: ["spec"],
              properties: {
                apiVersion: { type: "string" },
                kind: { type: "string" },
                metadata: { type: "object" },
                spec: structuralSchema(kind.spec),
                status: structuralSchema(kind.status),
              },
            },
          },
        },
      ],
    },
  };
}
