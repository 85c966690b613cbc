/** A node agent keeps trying to store a save; after this long nobody counts on it any more. */
export const savePatienceMs = 24 * 3600 * 1000;
