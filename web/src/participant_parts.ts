/** The folded parts of the participant's page: what is sent, the budget, a place typed by hand. Elements from values only. */
import type { Budget, Offer, Prepared } from "../../clients/js/src/index.js";
import { button, byId, element, numbers } from "./dom.js";
import { centre } from "./map.js";
import { meant } from "./names.js";
import type { Name } from "./tiles/streets.js";
import type { Tongue } from "./words.js";

function fold(id: string, title: string, ...inside: Node[]): HTMLDetailsElement {
  return element("details", { class: "card", id }, element("summary", {}, title), ...inside);
}

export function reportFold({ say, ...words }: Tongue, { grid }: Offer, prepared: Prepared): HTMLDetailsElement {
  const [lat, lon] = centre(grid, prepared.cell);
  const row = Math.floor(prepared.cell / grid.columns);
  const square = { cell: prepared.cell, row, column: prepared.cell - row * grid.columns };
  const rows = [
    [say("row_square"), say("row_square_value", { ...square, lat: lat.toFixed(4), lon: lon.toFixed(4) })],
    [say("row_version"), `${prepared.version.slice(0, 16)}…`],
    [say("row_key"), say("row_key_value")],
    [say("row_ticket"), say("row_ticket_value")],
  ].map(([name, value]) => element("tr", {}, element("th", { scope: "row" }, name!), element("td", {}, value!)));
  const told = prepared.reveals;
  const exact = say(told.exact ? "cost_exact" : "cost_bound");
  const near = say("guess_about", { distance: words.length(told.twoCellWithinM) });
  return fold(
    "report",
    say("details_sent"),
    element("p", {}, say("sent_only")),
    element("div", { class: "scroll" }, element("table", { class: "words" }, element("tbody", {}, ...rows))),
    numbers([
      [say("cost"), say("cost_value", { value: words.number(told.epsilonPerKm, 4) }), exact],
      [say("guess"), say("guess_value", { count: words.number(Math.round(100 * told.twoCellSuccess)) }), near],
    ]),
  );
}

export function budgetFold({ say, ...words }: Tongue, budget: Budget): HTMLDetailsElement {
  const { capPerKm, spentPerKm, leftPerKm, entries } = budget;
  const bar = element(
    "div",
    {
      class: "meter",
      role: "meter",
      "aria-valuemin": "0",
      "aria-valuemax": String(capPerKm),
      "aria-valuenow": spentPerKm.toFixed(3),
      "aria-label": say("budget_label"),
    },
    element("div", { style: `width:${Math.min(100, (100 * spentPerKm) / capPerKm)}%` }),
  );
  const rows = entries.map((entry) => {
    const { campaign, epoch } = entry as unknown as Record<string, unknown>;
    const inside = { campaign: String(campaign ?? ""), epoch: String(epoch) };
    const where = campaign && epoch ? say("budget_entry", inside) : inside.campaign;
    const what = { report: say("budget_report"), "joined again": say("budget_joined") }[entry.what] ?? entry.what;
    return element(
      "tr",
      {},
      ...[what, where, words.number(entry.epsilon_per_km, 4)].map((one) => element("td", {}, one)),
    );
  });
  const heads = [say("budget_what"), say("budget_where"), say("budget_cost")];
  const head = element("tr", {}, ...heads.map((name) => element("th", { scope: "col" }, name)));
  const table = element(
    "table",
    {},
    element("caption", {}, say("budget_table")),
    element("thead", {}, head),
    element("tbody", {}, ...rows),
  );
  const spent = { spent: words.number(spentPerKm), cap: words.number(capPerKm), left: words.number(leftPerKm) };
  return fold(
    "budget",
    say("details_budget"),
    element("p", {}, say("budget", spent)),
    bar,
    ...(rows.length ? [element("div", { class: "scroll" }, table)] : []),
  );
}

export function handFold(
  { say }: Tongue,
  draw: (lat: number, lon: number) => Promise<void>,
  complain: (error: unknown) => void,
): HTMLDetailsElement {
  const input = (id: string, most: number) =>
    element("input", { type: "number", step: "any", min: String(-most), max: String(most), id, autocomplete: "off" });
  const [lat, lon] = [input("lat", 90), input("lon", 180)];
  const wrong = element("p", { class: "bad", role: "alert" });
  const act = button(
    say("draw"),
    () => {
      const given = lat.value !== "" && lon.value !== "" && lat.checkValidity() && lon.checkValidity();
      wrong.textContent = given ? "" : say("by_hand_wrong");
      if (given) void draw(lat.valueAsNumber, lon.valueAsNumber).catch(complain);
    },
    { class: "quiet" },
  );
  return fold(
    "by-hand",
    say("by_hand"),
    element("p", { class: "soft" }, say("by_hand_hint")),
    element(
      "div",
      { class: "fields" },
      element("div", {}, element("label", { for: "lat" }, say("latitude")), lat),
      element("div", {}, element("label", { for: "lon" }, say("longitude")), lon),
      act,
    ),
    wrong,
  );
}

/** A name is looked for among those that came with the page: nobody learns which. */
export function findField(
  { say }: Tongue,
  names: readonly Name[],
  found: (name: Name) => void,
  missing: (text: string) => void,
): HTMLElement {
  const list = element("datalist", { id: "names" });
  list.append(...[...new Set(names.map(({ text }) => text))].map((value) => element("option", { value })));
  const field = element("input", { type: "text", id: "name", list: "names", autocomplete: "off", size: "18" });
  const look = () => {
    const one = meant(names, field.value);
    if (one) found(one);
    else if (field.value.trim()) missing(say("find_none"));
  };
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") look();
  });
  return element(
    "div",
    { class: "find", id: "find" },
    element("label", { for: "name" }, say("find")),
    field,
    button(say("find_it"), look, { class: "quiet", id: "find-it" }),
    list,
  );
}

export function legend({ say }: Tongue, here: boolean): void {
  const one = (kind: string, text: string) =>
    element("span", {}, element("span", { class: `swatch ${kind}`, "aria-hidden": "true" }), ` ${text}`);
  byId("area-legend").replaceChildren(
    one("solid", say("legend_sent")),
    ...(here ? [one("dashed", say("legend_here"))] : []),
  );
}
