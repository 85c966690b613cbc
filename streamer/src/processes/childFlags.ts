/** Node flags of the children: loading a native module from ESM still warns, at every start. */
export const childFlags = ["--disable-warning=ExperimentalWarning"];
