/** What all reports of one person cost together, and the same people asked once or in turn, each with its map. */
import type { CheaperView, PlanView } from "../../../clients/js/src/api.js";
import { button, element } from "../dom.js";
import { drawn } from "./fields.js";
import { say } from "./words.js";

export function overWeeks(plan: PlanView, take: (one: CheaperView) => void): HTMLElement[] {
  if (!plan.together_words) return [];
  return [
    element("p", { class: "advice", id: "plan-together" }, plan.together_words),
    ...pictured(plan.areas_svg),
    element("h3", {}, say("cheaper")),
    ...plan.cheaper.flatMap((one) => [
      element("p", { class: "cheaper" }, one.words),
      ...pictured(one.areas_svg),
      element(
        "div",
        { class: "buttons" },
        button(say("take_plan"), () => take(one), { class: "quiet" }),
      ),
    ]),
  ];
}

const pictured = (svg: string) =>
  svg
    ? [element("figure", { class: "areas" }, drawn(svg), element("figcaption", { class: "soft" }, say("areas_map")))]
    : [];
