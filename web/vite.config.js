import { defineConfig } from "vite";

// One folder of plain files with fixed names, which the service serves at /static/bundle and the wheel packs.
export default defineConfig({
  base: "/static/bundle/",
  publicDir: "public",
  build: {
    outDir: "../src/sfumato/service/static/bundle",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    chunkSizeWarningLimit: 2000,
    rollupOptions: {
      input: { participant: "src/participant.ts", dashboard: "src/dashboard.ts" },
      output: {
        entryFileNames: "[name].js",
        chunkFileNames: "[name].js",
        assetFileNames: "[name][extname]",
        // The participant's page needs no charts, so they are a chunk of their own.
        manualChunks: (id) =>
          id.startsWith("\0") || /node_modules\/(maplibre-gl|@maplibre|@mapbox)/.test(id) ? "maplibre" : id.includes("node_modules") ? "plot" : undefined,
      },
    },
  },
});
