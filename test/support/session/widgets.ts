import type { KubeObject } from "#kube/api/object.ts";
import type { Condition } from "#kube/api/conditions.ts";
import type { ResourceType } from "#kube/api/resourceType.ts";

/** A small custom resource for testing the controller runtime. */
export interface Widget extends KubeObject {
  spec: { size: number; colour?: string; parts?: { name: string }[] };
  status?: { phase?: string; conditions?: Condition[] };
}

export const widgets: ResourceType<Widget> = {
  group: "kube.test",
  version: "v1",
  plural: "widgets",
  kind: "Widget",
  namespaced: true,
};

/** Its definition: status subresource, selectable fields, and room for unknown fields. */
export const widgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.kube.test
spec:
  group: kube.test
  scope: Namespaced
  names: { kind: Widget, listKind: WidgetList, plural: widgets, singular: widget }
  versions:
    - name: v1
      served: true
      storage: true
      subresources: { status: {} }
      selectableFields:
        - jsonPath: .spec.colour
        - jsonPath: .status.phase
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            spec:
              type: object
              required: [size]
              x-kubernetes-preserve-unknown-fields: true
              properties:
                size: { type: integer, minimum: 1 }
                colour: { type: string, maxLength: 20 }
            status:
              type: object
              properties:
                phase: { type: string, maxLength: 20 }
                conditions:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [type]
                  items:
                    type: object
                    required: [type, status]
                    properties:
                      type: { type: string }
                      status: { type: string }
                      reason: { type: string }
                      message: { type: string }
                      lastTransitionTime: { type: string }
`;
