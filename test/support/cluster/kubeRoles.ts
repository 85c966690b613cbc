import type { PolicyRule } from "#kube/api/builtin.ts";
import type { KubeTransport } from "#kube/client/transport.ts";

/** Who a role is given to. */
export interface Subject {
  kind: "User" | "ServiceAccount";
  name: string;
  namespace?: string;
}

const group = "rbac.authorization.k8s.io";

/** Lets the subject do what the rules say: in one namespace (Role), or everywhere (ClusterRole). */
export async function grant(
  admin: KubeTransport,
  subject: Subject,
  rules: readonly PolicyRule[],
  namespace?: string,
): Promise<void> {
  const prefix = namespace === undefined ? "Cluster" : "";
  const folder = `/apis/${group}/v1${namespace === undefined ? "" : `/namespaces/${namespace}`}`;
  const name = `test:${subject.kind}:${subject.namespace ?? ""}:${subject.name}`.toLowerCase();
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
  const kinds = [
    { plural: `${prefix.toLowerCase()}roles`, body: { kind: `${prefix}Role`, metadata, rules } },
    {
      plural: `${prefix.toLowerCase()}rolebindings`,
      body: {
        kind: `${prefix}RoleBinding`,
        metadata,
        roleRef: { apiGroup: group, kind: `${prefix}Role`, name },
        subjects: [subject.kind === "User" ? { ...subject, apiGroup: group } : subject],
      },
    },
  ];
  for (const { plural, body } of kinds) {
    await admin.request({
      method: "PATCH",
      path: `${folder}/${plural}/${encodeURIComponent(name)}`,
      query: { fieldManager: "test", force: true },
      contentType: "application/apply-patch+yaml",
      body: { apiVersion: `${group}/v1`, ...body },
    });
  }
}
