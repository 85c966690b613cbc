import type { Pod } from "#kube/api/builtin.ts";

/** Returns the part of a pod's spec by which the kubelet may pull its images; empty without secrets. */
export function pullSecretsOf({
  imagePullSecrets,
}: {
  imagePullSecrets: readonly string[];
}): Pick<NonNullable<Pod["spec"]>, "imagePullSecrets"> {
  return imagePullSecrets.length === 0
    ? {}
    : { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) };
}
