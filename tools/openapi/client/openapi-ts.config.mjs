/**
 * What openapi-ts makes of which document: a client for Node's own modules, whose imports name files with
 * their extension.
 */
export default {
  input: process.env.OPENAPI_DOCUMENT,
  output: { path: process.env.OPENAPI_CLIENT, module: { extension: ".js" } },
};
