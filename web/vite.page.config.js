import { createHash } from "node:crypto";
import { defineConfig } from "vite";
import { land } from "./land.js";

const sha256 = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Everything in one HTML file that runs from a disk, under a policy that names its two parts and forbids all requests. */
function oneFile() {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_, bundle) {
      const page = Object.values(bundle).find((part) => part.fileName.endsWith(".html"));
      const script = Object.values(bundle).find((part) => part.type === "chunk");
      const style = Object.values(bundle).find((part) => part.fileName.endsWith(".css"));
      const code = script.code.trim().replaceAll("</script", "<\\/script");
      const css = String(style.source).trim();
      const policy = `default-src 'none'; script-src ${sha256(code)}; style-src ${sha256(css)}; img-src data:; base-uri 'none'; form-action 'none'`;
      page.source = String(page.source)
        .replace(/\s*<script type="module"[^>]*><\/script>/, "")
        .replace(/\s*<link rel="stylesheet"[^>]*>/, "")
        .replace(
          /<meta charset="utf-8" ?\/?>/,
          (tag) => `${tag}\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`,
        )
        .replace("</head>", () => `<style>${css}</style>\n  </head>`)
        .replace("</body>", () => `<script type="module">${code}</script>\n  </body>`);
      page.fileName = "sfumato-protect.html";
      for (const name of Object.keys(bundle)) if (bundle[name] !== page) delete bundle[name];
    },
  };
}

export default defineConfig({
  publicDir: false,
  plugins: [land(), oneFile()],
  build: {
    outDir: "dist-page",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 2000,
    rollupOptions: { input: "protect.html" },
  },
});
