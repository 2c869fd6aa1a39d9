// Chromium as the tests need it: headless, without the browser's own traffic, every request recorded.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--use-gl=angle",
  "--use-angle=swiftshader",
  "--enable-unsafe-swiftshader",
  "--ignore-gpu-blocklist",
];

export async function open({ executable = "/usr/bin/chromium", ...options } = {}) {
  const profile = mkdtempSync(join(tmpdir(), "sfumato-browser-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: executable,
    headless: true,
    args: FLAGS,
    ...options,
  });
  const requests = [];
  const problems = [];
  const watch = (page) => {
    page.on("request", (request) =>
      requests.push({ url: request.url(), method: request.method(), body: request.postData() }),
    );
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  };
  context.on("page", watch);
  context.pages().forEach(watch);
  const close = async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  };
  return { context, page: context.pages()[0] ?? (await context.newPage()), requests, problems, close };
}
