/**
 * Node's flags for child processes: without this one, loading a native module from ESM prints a warning at
 * every start.
 */
export const childFlags = ["--disable-warning=ExperimentalWarning"];
