/**
 * Returns the document with every object closed. Clients must accept new fields, but an undocumented field in
 * a response is a leak.
 */
export function strictlyObjects<T>(document: T): T {
  return close(document) as T;
}

function close(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(close);
  if (typeof value !== "object" || value === null) return value;
  const closed = Object.fromEntries(Object.entries(value).map(([name, child]) => [name, close(child)]));
  const isOpen = closed["type"] === "object" && "properties" in closed && !("additionalProperties" in closed);
  return isOpen ? { ...closed, additionalProperties: false } : closed;
}
