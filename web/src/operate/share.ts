/** What is given away: the link, the QR code, a poster to print, the privacy notice. */
import type { CampaignView, CodeAnswer, HeadsAnswer } from "../../../clients/js/src/api.js";
import { button, element } from "../dom.js";
import { LANGUAGES, labelled, text } from "./fields.js";
import { card, tell } from "./frame.js";
import { ask } from "./session.js";
import { say } from "./words.js";

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
  const warning = /^https:/.test(address) ? [] : [element("p", { class: "soft" }, say("no_tls"))];
  return [
    card(
      "share",
      say("share"),
      ...warning,
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
      ),
      code,
      element("h3", {}, say("notice")),
      element("p", {}, say("notice_about"), " ", ...notices.flatMap((one, index) => (index ? [" · ", one] : [one]))),
    ),
    poster(campaign, address, svg, head),
  ];
}

/** Only on paper. */
function poster(campaign: CampaignView, address: string, svg: string, head: string): HTMLElement {
  return element(
    "div",
    { class: "poster", "aria-hidden": "true" },
    element("p", { class: "poster-title" }, campaign.question || campaign.title),
    drawn(svg),
    element("p", {}, address),
    element("p", { class: "poster-head" }, head),
    element("p", {}, [campaign.organiser, campaign.contact].filter(Boolean).join(" · ")),
  );
}

/** The server's picture as an element; it is parsed as a picture, so nothing in it can run. */
function drawn(svg: string): Node {
  const parsed = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  return document.importNode(parsed, true);
}
