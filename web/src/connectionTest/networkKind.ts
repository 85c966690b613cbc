/** Returns the kind of network that the browser is on, such as `wifi`; `unknown` where it does not say. */
export function networkKind(): string {
  const connection: unknown = Reflect.get(navigator, "connection");
  if (typeof connection !== "object" || connection === null) return "unknown";
  const kind: unknown = Reflect.get(connection, "type");
  return typeof kind === "string" ? kind : "unknown";
}
