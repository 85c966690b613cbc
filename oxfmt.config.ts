import { defineConfig } from "oxfmt";

/**
 * Formats TypeScript, JavaScript, JSON, CSS, HTML, YAML and Markdown; tools/fmt.sh runs it with the
 * formatters of other languages.
 */
export default defineConfig({
  printWidth: 110,
  proseWrap: "always",
  jsdoc: { addDefaultToDescription: false, capitalizeDescriptions: false, commentLineStrategy: "keep" },
  ignorePatterns: [
    "package-lock.json",
    "**/package-lock.json",
    "test-results/",
    // Written by generators in a form of their own.
    "api/src/generated/",
    "crds/*.yaml",
    "charts/joypod/files/{crds,rbac.yaml,node-agent-status.yaml}",
    // Go templates and placeholders are not YAML.
    "charts/joypod/templates/",
    "tools/offline/node/storage.yaml",
    // Copied from other projects.
    "test/support/cluster/prometheusOperator/",
    "test/support/gatewayApi/",
  ],
});
