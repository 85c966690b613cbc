/** Returns what `helm test` prints, by whether its pod reached what its policy allows and what it denies. */
export function networkTestResult(
  isAllowedOpen: boolean,
  isDeniedOpen: boolean,
): { isEnforced: boolean; sentence: string } {
  if (isDeniedOpen) {
    return {
      isEnforced: false,
      sentence:
        "This cluster does not enforce NetworkPolicies: nothing but their seccomp filter keeps games off the network, and games that need the internet are refused. Install a network plugin that enforces them.",
    };
  }
  if (!isAllowedOpen) {
    return {
      isEnforced: false,
      sentence:
        "The test could not even reach the API, which its policy allows: whether this cluster enforces NetworkPolicies is not known.",
    };
  }
  return { isEnforced: true, sentence: "This cluster enforces NetworkPolicies." };
}
