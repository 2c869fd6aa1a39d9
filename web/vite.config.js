import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { defineConfig } from "vite";
import { land } from "./land.js";

const NONE = "No code of other packages is in this bundle.\n";

/** The licences of every package whose code ends up in the bundle, beside it. */
function licences() {
  const folderOf = (id) => {
    let folder = dirname(id);
    while (
      !existsSync(join(folder, "package.json")) ||
      !JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version
    )
      folder = dirname(folder);
    return folder;
  };
  return {
    name: "licences",
    generateBundle(_, bundle) {
      const used = Object.values(bundle).flatMap((chunk) => (chunk.type === "chunk" ? Object.keys(chunk.modules) : []));
      const folders = new Set(
        used
          .filter((id) => id.includes("/node_modules/") && !id.startsWith("\0"))
          .map((id) => folderOf(id.split("?")[0])),
      );
      const parts = [...folders].sort().map((folder) => {
        const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
        const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
        return `${name} ${version} (${license ?? "see below"})\n\n${file ? readFileSync(join(folder, file), "utf8").trim() : ""}\n`;
      });
      this.emitFile({ type: "asset", fileName: "LICENSES.txt", source: parts.join(`\n${"-".repeat(80)}\n\n`) || NONE });
    },
  };
}

/** A page's own words, without those that only the server says. */
function spokenWords() {
  const folder = new URL("src/", import.meta.url);
  const scripts = readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(new URL(name, folder), "utf8"))
    .join("\n");
  return {
    name: "spoken-words",
    enforce: "pre",
    transform(code, id) {
      if (!/\/words\/[a-z]{2}\.json$/.test(id)) return null;
      const said = Object.entries(JSON.parse(code)).filter(([key]) => scripts.includes(`"${key}"`));
      return { code: JSON.stringify(Object.fromEntries(said)), map: null };
    },
  };
}

// One folder of plain files with fixed names, which the service serves at /static/bundle and the wheel packs.
export default defineConfig({
  base: "/static/bundle/",
  publicDir: false,
  plugins: [land(), spokenWords(), licences()],
  build: {
    outDir: "../src/sfumato/collect/service/static/bundle",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    chunkSizeWarningLimit: 2000,
    rollupOptions: {
      input: {
        participant: "src/participant.ts",
        dashboard: "src/dashboard.ts",
        operate: "src/operate.ts",
        paper: "src/paper.ts",
      },
      output: {
        entryFileNames: "[name].js",
        chunkFileNames: "[name].js",
        assetFileNames: "[name][extname]",
      },
    },
  },
});
