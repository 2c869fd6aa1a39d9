/** What is given away: the link, the QR code, a poster to print, the privacy notice. */
import type { CampaignAnswer, CampaignView, CodeAnswer, HeadsAnswer } from "../../../clients/js/src/api.js";
import { button, byId, element } from "../dom.js";
import { tongue } from "../words.js";
import { drawn, LANGUAGES, labelled, text } from "./fields.js";
import { card, tell } from "./frame.js";
import { ask } from "./session.js";
import { count, language, say } from "./words.js";

const STAND_MS = 60_000;
const LONG = 60; // letters of a question on a poster

export async function share(campaign: CampaignView): Promise<HTMLElement[]> {
  const address = `${location.origin}/campaigns/${campaign.name}`;
  const { svg } = await ask<CodeAnswer>("/api/v1/codes", { address });
  const { heads } = await ask<HeadsAnswer>("/api/v1/heads");
  const head = heads.find((one) => one.campaign === campaign.name)?.words ?? "";
  const link = text({ value: address, readonly: "", id: "link" });
  const copy = button(say("copy_link"), () => {
    link.select();
    void navigator.clipboard?.writeText(address).then(
      () => tell(say("copied")),
      () => tell(say("copy_by_hand")),
    );
  });
  const notices = LANGUAGES.filter(([code]) => code).map(([code, name]) =>
    element(
      "a",
      { href: `/campaigns/${campaign.name}/privacy-notice?language=${code}`, target: "_blank", lang: code },
      name,
    ),
  );
  const saved = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  const code = element("div", { class: "qr", id: "qr" }, drawn(svg));
  const bare = byId("operate").dataset["tiles"]
    ? []
    : [element("p", { class: "advice", id: "no-streets" }, say("no_streets"))];
  const warning = /^https:/.test(address) ? [] : [element("p", { class: "soft" }, say("no_tls"))];
  return [
    card(
      "share",
      say("share"),
      ...warning,
      ...bare,
      labelled("link", link),
      element(
        "div",
        { class: "buttons" },
        copy,
        element(
          "a",
          { class: "button quiet", href: saved, download: `${campaign.name}-qr.svg`, id: "qr-file" },
          say("save_code"),
        ),
        button(say("print_poster"), () => print(), { class: "quiet" }),
        button(say("stand"), () => stand(campaign, address, svg), { class: "quiet", id: "show-stand" }),
      ),
      code,
      element("h3", {}, say("notice")),
      element("p", {}, say("notice_about"), " ", ...notices.flatMap((one, index) => (index ? [" · ", one] : [one]))),
    ),
    await poster(campaign, address, svg, head),
  ];
}

/** Only on paper, A4, in the language of the campaign. */
async function poster(campaign: CampaignView, address: string, svg: string, head: string): Promise<HTMLElement> {
  const spoken = campaign.language || language;
  const { say: tell } = await tongue(spoken);
  const day = new Intl.DateTimeFormat(spoken, { dateStyle: "long" });
  const last = campaign.ends_at_s ? day.format(campaign.ends_at_s * 1000 - 1) : null;
  const asked = campaign.question || campaign.title;
  const mark = document.querySelector("header .mark")?.cloneNode(true);
  return element(
    "div",
    { class: "poster", "aria-hidden": "true", lang: spoken },
    ...(campaign.rehearsal ? [element("p", { class: "poster-rehearsal" }, tell("rehearsal"))] : []),
    element("p", { class: asked.length > LONG ? "poster-title poster-long" : "poster-title" }, asked),
    drawn(svg),
    element("p", {}, address),
    ...(last === null ? [] : [element("p", { class: "poster-dates" }, tell("poster_until", { day: last }))]),
    element("p", { class: "poster-privacy" }, tell("sentence")),
    element("p", { class: "poster-head" }, head),
    element("p", {}, [campaign.organiser, campaign.contact].filter(Boolean).join(" · ")),
    element("p", { class: "poster-mark" }, ...(mark ? [mark] : []), " sfumato"),
  );
}

/** The code as large as the screen, and about how many took part: for a phone or a screen at a stand. */
function stand(campaign: CampaignView, address: string, svg: string): void {
  const taken = element("p", { id: "stand-count", role: "status" });
  const look = async () => {
    const { campaign: now } = await ask<CampaignAnswer>(`/api/v1/campaigns/${campaign.name}`);
    const tens = 10 * Math.floor((now.cycle.reports ?? 0) / 10);
    taken.textContent = tens ? say("stand_count", { count: count(tens) }) : say("stand_first");
  };
  const close = button(say("stand_close"), () => dialog.close(), { id: "stand-close", class: "quiet" });
  const dialog = element(
    "dialog",
    { class: "stand", id: "stand", "aria-label": say("stand") },
    element("p", { class: "poster-title" }, campaign.question || campaign.title),
    drawn(svg),
    element("p", {}, address),
    taken,
    close,
  );
  document.body.append(dialog);
  const again = setInterval(() => void look().catch(() => undefined), STAND_MS);
  dialog.addEventListener("close", () => {
    clearInterval(again);
    dialog.remove();
  });
  dialog.showModal();
  close.focus();
  void look().catch(() => undefined);
}
