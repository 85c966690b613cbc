/** One rule of a Role or ClusterRole. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** Returns the part of a rule that names the objects of a type, or their subresource. */
export function resourcesOf(
  { group, plural }: { group: string; plural: string },
  subresource?: string,
): Pick<PolicyRule, "apiGroups" | "resources"> {
  return { apiGroups: [group], resources: [subresource === undefined ? plural : `${plural}/${subresource}`] };
}
