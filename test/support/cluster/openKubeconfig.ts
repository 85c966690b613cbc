/** Returns a kubeconfig for a test server without authentication. */
export function openKubeconfig(server: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "open",
    clusters: [{ name: "open", cluster: { server, "insecure-skip-tls-verify": true } }],
    users: [{ name: "open", user: {} }],
    contexts: [{ name: "open", context: { cluster: "open", user: "open" } }],
  });
}
