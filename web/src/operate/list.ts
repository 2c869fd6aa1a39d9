/** Every campaign and how it stands. */
import type { CampaignsAnswer, CampaignView } from "../../../clients/js/src/api.js";
import { element } from "../dom.js";
import { when } from "./fields.js";
import { card, show, table } from "./frame.js";
import { ask } from "./session.js";

export const STATES: Record<CampaignView["state"], string> = {
  running: "● running",
  paused: "❚❚ paused",
  ended: "■ ended",
  archived: "▣ archived",
};

export async function list(): Promise<void> {
  const { campaigns } = await ask<CampaignsAnswer>("/api/v1/campaigns?archived=true");
  const alive = campaigns.filter(({ state }) => state !== "archived").reverse();
  const put = campaigns.filter(({ state }) => state === "archived").reverse();
  const create = element(
    "p",
    { class: "buttons" },
    element("a", { class: "button", href: "#/new", id: "new" }, "New campaign"),
  );
  const first = element("p", {}, "There is no campaign yet. Draw an area, say what you ask, and give the link away.");
  show(
    "#/",
    "Campaigns",
    create,
    card("campaigns", "Campaigns of this collector", alive.length ? listed(alive) : first),
    ...(put.length ? [card("archive", "Archived", listed(put))] : []),
  );
}

function listed(campaigns: CampaignView[]): HTMLElement {
  return table(
    "Campaigns",
    ["Campaign", "State", "Reports in this cycle", "Cycle due", "Ends"],
    campaigns.map(({ name, title, state, cycle, ends_at_s }) => [
      element("a", { href: `#/c/${name}` }, title),
      STATES[state],
      state === "running" || state === "paused" ? (cycle.reports ?? 0).toLocaleString("en") : "–",
      state === "running" ? when(cycle.due_at_s) : "–",
      ends_at_s ? when(ends_at_s) : "when you end it",
    ]),
  );
}
