import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/**
 * The web app is served by the API from web/dist; in development Vite serves it and passes /api on to a local
 * API.
 */
export default defineConfig({
  plugins: [react()],
  build: { target: "es2022", sourcemap: true },
  server: { proxy: { "/api": "http://127.0.0.1:8080" } },
});
