/** Every campaign and how it stands. */
import type { CampaignsAnswer, CampaignView } from "../../../clients/js/src/api.js";
import { element } from "../dom.js";
import { card, show, table } from "./frame.js";
import { ask } from "./session.js";
import { count, say, when } from "./words.js";

export const STATES: Record<CampaignView["state"], string> = {
  running: `● ${say("running")}`,
  paused: `❚❚ ${say("paused")}`,
  ended: `■ ${say("ended")}`,
  archived: `▣ ${say("archived")}`,
};

export async function list(): Promise<void> {
  const { campaigns } = await ask<CampaignsAnswer>("/api/v1/campaigns?archived=true");
  const alive = campaigns.filter(({ state }) => state !== "archived").reverse();
  const put = campaigns.filter(({ state }) => state === "archived").reverse();
  const create = element(
    "p",
    { class: "buttons" },
    element("a", { class: "button", href: "#/new", id: "new" }, say("new_campaign")),
  );
  const first = element("p", {}, say("no_campaign"));
  show(
    "#/",
    say("campaigns"),
    create,
    card("campaigns", say("campaigns_here"), alive.length ? listed(alive) : first),
    ...(put.length ? [card("archive", say("archive"), listed(put))] : []),
  );
}

function listed(campaigns: CampaignView[]): HTMLElement {
  return table(
    say("campaigns"),
    [say("campaign"), say("state"), say("reports_open"), say("cycle_due"), say("ends")],
    campaigns.map(({ name, title, state, cycle, ends_at_s }) => [
      element("a", { href: `#/c/${name}` }, title),
      STATES[state],
      state === "running" || state === "paused" ? count(cycle.reports ?? 0) : "–",
      state === "running" ? when(cycle.due_at_s) : "–",
      ends_at_s ? when(ends_at_s) : say("when_you_end_it"),
    ]),
  );
}
