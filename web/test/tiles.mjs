// With a tile URL set by the operator: the dashboard asks for tiles, the participant's page never does.
import { open } from "./browser.mjs";

const { url, campaign, executable } = JSON.parse(process.argv[2]);
const { page, requests, problems, close } = await open({ executable, viewport: { width: 900, height: 900 } });
const visit = async (path, id) => {
  const before = requests.length;
  await page.goto(url + path);
  await page.waitForSelector(`#${id}[data-ready]`, { timeout: 30000 });
  await page.waitForTimeout(1500);
  return requests.slice(before).map((request) => request.url);
};
const participant = await visit(`/campaigns/${campaign}`, "area");
const dashboard = await visit(`/campaigns/${campaign}/dashboard`, "map");
await close();
console.log(JSON.stringify({ participant, dashboard, requests, problems }));
