/** How a probe pod ends; any other code is a failure of its own. */
export const exitCodes = { connected: 0, refused: 3 } as const;
