import { join } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const redocLogo = "https://cdn.redoc.ly/redoc/logo-mini.svg";

/** Redoc shows a logo from the network, but these pages load nothing from other hosts. */
const redocWithoutLogo: Plugin = {
  name: "redoc-without-logo",
  generateBundle: (_, bundle) => {
    for (const file of Object.values(bundle)) {
      if (file.type !== "asset" || !file.names.includes("redoc.standalone.js")) continue;
      const source = file.source.toString();
      if (!source.includes(redocLogo)) throw new Error(`${file.fileName} does not contain ${redocLogo}.`);
      file.source = source.replace(redocLogo, "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>");
    }
  },
};

/**
 * The web app is served by the API from web/dist; in development Vite serves it and passes /api on to a local
 * API. docs/ is the API reference, a page of its own.
 */
export default defineConfig({
  plugins: [react(), redocWithoutLogo],
  build: {
    target: "es2022",
    sourcemap: true,
    // All browsers of this target preload modules themselves.
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: [join(import.meta.dirname, "index.html"), join(import.meta.dirname, "docs/index.html")],
    },
  },
  server: { proxy: { "/api": "http://127.0.0.1:8080", "/openapi.json": "http://127.0.0.1:8080" } },
});
