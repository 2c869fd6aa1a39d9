// The tops of reports for the docs, at a desk and on a phone. Called with one JSON argument.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { open } from "./browser.mjs";

const { pages, pictures, executable } = JSON.parse(process.argv[2]);
const { page, requests, close } = await open({ executable });
for (const [name, file] of Object.entries(pages))
  for (const [width, height, ending] of [
    [1280, 640, ""],
    [390, 844, "_phone"],
  ]) {
    await page.setViewportSize({ width, height });
    await page.goto(pathToFileURL(file).href);
    await page.waitForTimeout(300);
    await page.screenshot({ path: join(pictures, `${name}${ending}.png`) });
  }
await close();
const outside = requests.filter(({ url }) => !/^(file|data|blob):/.test(url));
if (outside.length > 0) throw new Error(`A report asked ${outside[0].url}.`);
