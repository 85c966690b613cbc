/**
 * Day of the interface's newest change, told by every response and by the OpenAPI document. Nothing is ever
 * taken away without notice.
 */
export const apiVersion = "2026-11-28";
