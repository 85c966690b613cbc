/** Returns the output of `helm test`, given whether the pod reached the allowed and the denied endpoint. */
export function networkTestResult(
  isAllowedOpen: boolean,
  isDeniedOpen: boolean,
): { isEnforced: boolean; sentence: string } {
  if (isDeniedOpen) {
    return {
      isEnforced: false,
      sentence:
        "This cluster does not enforce NetworkPolicies. Only the seccomp filter keeps games off the network, and games that need internet access are refused. Install a network plugin that enforces NetworkPolicies.",
    };
  }
  if (!isAllowedOpen) {
    return {
      isEnforced: false,
      sentence:
        "The test could not reach the API, although its policy allows it. It is unknown whether this cluster enforces NetworkPolicies.",
    };
  }
  return { isEnforced: true, sentence: "This cluster enforces NetworkPolicies." };
}
