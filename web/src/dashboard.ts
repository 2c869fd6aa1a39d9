/**
 * The map of a campaign: areas that can be told apart, faded where they are uncertain; a slider through the rounds.
 * Numbers come from the JSON twin, maps page by page and only those that are looked at.
 */
import type {
  AreaView,
  ClosedCycleView,
  DashboardAnswer,
  DistrictFacts,
  DistrictShare,
  MapAnswer,
} from "../../clients/js/src/api.js";
import { button, byId, element } from "./dom.js";
import { type Area, AreaMap, cells, centre, shades } from "./map.js";
import { knownNames } from "./names.js";
import { type Key, tongue } from "./words.js";

type View = "districts" | "areas" | "cells" | "own";
const VIEWS = { districts: "view_districts", areas: "view_areas", cells: "view_squares", own: "view_own" } as const;
const KINDS: Readonly<Record<string, Key>> = {
  weekday: "kind_weekday",
  weekend: "kind_weekend",
  night: "kind_night",
  morning: "kind_morning",
  afternoon: "kind_afternoon",
  evening: "kind_evening",
};
const words = await tongue();
const { say, percent } = words;
const root = byId("dashboard");
const home = `/campaigns/${root.dataset["campaign"] ?? ""}`;

/** One cycle's map over all its pages; there are no areas above 2,500 cells, and neither in old cycles. */
interface WholeMap {
  estimate: number[];
  own: number[] | null;
  low: number[] | null;
  high: number[] | null;
  areas: AreaView[] | null;
  districts: DistrictFacts | null;
}

let twin: DashboardAnswer;
let map: AreaMap | null = null;
let view: View = "areas";
let shown = 0;
let now: WholeMap;
const maps = new Map<number, Promise<WholeMap>>();

async function json(address: string): Promise<unknown> {
  const reply = await fetch(address, { credentials: "omit", cache: "no-cache" });
  if (!reply.ok) throw new Error(String(reply.status));
  return await reply.json();
}

const fetched = async () => (await json(`${home}/dashboard.json`)) as DashboardAnswer;

async function wholeMap(cycle: number): Promise<WholeMap> {
  const whole: WholeMap = { estimate: [], own: [], low: [], high: [], areas: null, districts: null };
  const add = (into: number[] | null, part: number[] | null) =>
    into === null || part === null ? null : into.concat(part);
  for (let page = 1; page <= twin.map_pages; page++) {
    const { map: part } = (await json(`${home}/maps/${cycle}/${page}.json`)) as MapAnswer;
    whole.estimate = whole.estimate.concat(part.estimate);
    whole.own = add(whole.own, part.this_cycle);
    whole.low = add(whole.low, part.low);
    whole.high = add(whole.high, part.high);
    whole.areas = part.areas;
    whole.districts = part.districts ?? null;
  }
  return whole;
}

function mapOf(cycle: ClosedCycleView): Promise<WholeMap> {
  const found = maps.get(cycle.cycle) ?? wholeMap(cycle.cycle);
  maps.set(cycle.cycle, found);
  found.catch(() => maps.delete(cycle.cycle));
  return found;
}

/** The average, said as what it is: over how many rounds. */
function averaged(cycle: ClosedCycleView): string {
  const count = cycle.averaged_cycles ?? 1;
  if (count <= 1) return say("when_round", { round: cycle.cycle });
  const out = new Set(cycle.excluded_cycles ?? []);
  let first = cycle.cycle;
  for (let missing = count - 1; missing > 0 && first > 0; ) if (!out.has(--first)) missing -= 1;
  const rounds = { first, last: cycle.cycle };
  const between = [...out].filter((one) => one > first && one < cycle.cycle).sort((a, b) => a - b);
  if (between.length === 0) return say("when_average", rounds);
  const last = between.pop()!;
  const listed = between.length > 0 ? say("and", { most: between.join(", "), last }) : String(last);
  return say("when_without", { ...rounds, out: listed });
}

/** Said beside a round that the operator left out of the map: what is shown of it is as it was published. */
const leftOut = (cycle: ClosedCycleView, when: string) => (cycle.excluded ? say("when_left_out", { when }) : when);

/** The round's own map; where classes were declared, that of the rounds like it. */
function own(cycle: ClosedCycleView): string {
  const [round, count] = [cycle.cycle, (cycle.class_cycles ?? 1) - 1];
  if (count <= 0) return say("when_round", { round });
  const kinds = (cycle.cycle_class ?? "").split(" ").map((one) => (KINDS[one] ? say(KINDS[one]) : one));
  return say("when_alike", { round, count, kind: kinds.join(", ") });
}

/** Whether one of the averaged rounds did not fit those before it: then an average is no answer. As on the server. */
const changed = (cycle: ClosedCycleView) =>
  twin.history.some(
    (one) =>
      one.verdict === "changed" &&
      !one.excluded &&
      one.cycle > cycle.cycle - (cycle.averaged_cycles ?? 1) + 1 &&
      one.cycle <= cycle.cycle,
  );

/** The districts as they are shown: those of the round alone where an average is no answer. */
const districtsShown = (): DistrictShare[] =>
  (now.districts && (changed(twin.history[shown]!) ? now.districts.this_round : now.districts.average)) ?? [];

const districtName = ({ names }: DistrictShare) => names.join(" + ") || say("elsewhere");

/** A district's cells as rectangles, row by row, and a place for its label in the row nearest to its middle. */
function districtArea(one: DistrictShare): Omit<Area, "shade" | "sure"> & { size: number } {
  const { columns: wide } = twin.campaign.grid;
  const boxes: { row: number; column: number; rows: number; columns: number }[] = [];
  for (const { name, runs } of twin.campaign.districts ?? []) {
    if (!one.names.includes(name)) continue;
    for (let at = 0; at < runs.length; at += 2) {
      let [first, left] = [runs[at]!, runs[at + 1]!];
      while (left > 0) {
        const [row, column] = [Math.floor(first / wide), first % wide];
        const columns = Math.min(left, wide - column);
        boxes.push({ row, column, rows: 1, columns });
        [first, left] = [first + columns, left - columns];
      }
    }
  }
  const size = boxes.reduce((sum, box) => sum + box.columns, 0);
  const middle = boxes.reduce((sum, box) => sum + box.row * box.columns, 0) / size;
  const row = boxes.reduce((a, b) => (Math.abs(b.row - middle) < Math.abs(a - middle) ? b.row : a), boxes[0]!.row);
  const [from, to] = boxes
    .filter((box) => box.row === row)
    .reduce(([a, b], box) => [Math.min(a, box.column), Math.max(b, box.column + box.columns)], [wide, 0]);
  return { row: row - 1, column: from, rows: 3, columns: to - from, boxes, size };
}

/** What so many reports can tell apart, and what finer would take: as on the server. */
function headline(told: ClosedCycleView["sharpness"]): string {
  if (!told) return "";
  const reports = words.reports(told.reports);
  const width = told.width_m === null ? "" : words.length(told.width_m);
  if (told.more_reports === null || told.finer_width_m === null)
    return say(width ? "head_finest" : "head_not_yet", { reports, width });
  const step = 10 ** Math.max(0, String(told.more_reports).length - 2);
  const more = words.count(Math.ceil(told.more_reports / step) * step);
  return say(width ? "head_apart" : "head_not_yet_more", {
    reports,
    width,
    more,
    finer: words.length(told.finer_width_m),
  });
}

/** What the map gives away about one person; odds are rounded up: as on the server. */
function oddsInWords(told: ClosedCycleView["map_odds"]): string {
  if (!told) return "";
  const up = (value: number) => {
    if (value > 1e6) return say("odds_million");
    const step = 10 ** Math.max(Math.floor(Math.log10(Math.max(value, 1))) - 2, -2);
    const rounded = Math.ceil(value / step - 1e-6) * step;
    return `${rounded < 1000 ? words.number(rounded, 6) : rounded.toFixed(0).replace(/\B(?=(\d{3})+$)/g, " ")} : 1`;
  };
  const known = {
    average: up(told.average),
    worst: up(told.worst),
    local: up(told.local),
    together: up(told.together),
    distance: words.length(told.distance_m),
  };
  const said = [say("map_odds", known), say("map_odds_local", known)];
  if (told.together > 1.001 * told.local) said.push(say("map_odds_together", known));
  return said.join(" ");
}

/** 12–17 %, as on the server. */
function span(low: number, high: number): string {
  const [least, most] = [Math.round(100 * low), Math.round(100 * high)];
  if (most < 1) return "< 1 %";
  return least === most ? `${most} %` : `${least}–${most} %`;
}

const middle = ({ low, high }: { low: number; high: number }) => (low + high) / 2;

/** 1 certain .. 0 unknown: an interval beside twice the share, or an even one. */
const sure = (share: number, low: number, high: number, even: number) =>
  Math.min(1, Math.max(0, 1 - (high - low) / (2 * Math.max(share, even))));

function areasShown(): Area[] {
  const { grid, cells: count } = twin.campaign;
  if (view === "own" && now.own !== null) return cells(grid, now.own);
  if (view === "districts" && now.districts !== null) {
    const named = districtsShown().filter(({ names }) => names.length > 0);
    const places = named.map(districtArea);
    const shade = shades(named.map((one, index) => middle(one) / places[index]!.size));
    return named.map(({ low, high }, index) => ({
      ...places[index]!,
      shade: named.length > 1 ? shade[index]! : 0,
      sure: named.length > 1 ? sure(middle({ low, high }), low, high, places[index]!.size / count) : 0,
      label: span(low, high),
    }));
  }
  if (view === "areas" && now.areas !== null) {
    const found = now.areas;
    // One area is the whole map, and nothing is known of where in it people are: it has no colour.
    if (found.length === 1) return [{ ...found[0]!, shade: 0, sure: 0 }];
    const shade = shades(found.map((one) => middle(one) / (one.rows * one.columns)));
    return found.map(({ low, high, ...box }, index) => ({
      ...box,
      shade: shade[index]!,
      sure: sure(middle({ low, high }), low, high, (box.rows * box.columns) / count),
      label: span(low, high),
    }));
  }
  return cells(grid, now.estimate).map((area, cell) => ({
    ...area,
    sure: now.low && now.high ? sure(now.estimate[cell]!, now.low[cell]!, now.high[cell]!, 1 / count) : 1,
  }));
}

const told = element("p", { class: "soft", "aria-live": "polite", id: "cell-told" });

function tell(index: number): void {
  const level = `${100 * (twin.history[shown]!.interval_level ?? 0)} %`;
  if (view === "districts" && now.districts !== null) {
    const one = districtsShown().filter(({ names }) => names.length > 0)[index];
    if (!one) return;
    const known = { names: districtName(one), span: span(one.low, one.high), level, share: percent(one.share) };
    told.textContent = say("tell_district", known);
    return;
  }
  const area = view === "areas" ? now.areas?.[index] : undefined;
  if (area) {
    const [within, share] = [span(area.low, area.high), percent(area.share)];
    told.textContent = say("tell_area", { span: within, level, share });
    return;
  }
  const where = centre(twin.campaign.grid, index)
    .map((one) => one.toFixed(4))
    .join(", ");
  const share = percent(view === "own" && now.own ? now.own[index]! : now.estimate[index]!);
  told.textContent =
    view !== "own" && now.low && now.high
      ? say("tell_square_between", { where, share, low: percent(now.low[index]!), high: percent(now.high[index]!) })
      : say("tell_square", { where, share });
}

/** The districts' shares over all rounds and in this one, as on the server. */
function districtTable({ average, this_round, level }: DistrictFacts, cycle: ClosedCycleView): HTMLElement {
  const interval = say("col_interval", { level: `${100 * level} %` });
  const numbers = (one?: DistrictShare) =>
    one ? [percent(one.share), `${percent(one.low)} – ${percent(one.high)}`] : ["–", "–"];
  const key = ({ names }: DistrictShare) => names.join("\n");
  const ofRound = new Map(this_round.map((one) => [key(one), one]));
  const both = new Set(average.map(key));
  const alone = changed(cycle);
  const ranked = (shares: DistrictShare[]) =>
    [...shares].sort((a, b) => Number(a.names.length === 0) - Number(b.names.length === 0) || b.share - a.share);
  const rows = alone
    ? ranked(this_round).map((one) => [districtName(one), ...numbers(one)])
    : [
        ...ranked(average).map((one) => [districtName(one), ...numbers(one), ...numbers(ofRound.get(key(one)))]),
        ...this_round
          .filter((one) => !both.has(key(one)))
          .map((one) => [districtName(one), ...numbers(), ...numbers(one)]),
      ];
  const heads = [say("col_district"), say("col_share"), interval, ...(alone ? [] : [say("col_this_round"), interval])];
  const cells = (kind: "th" | "td", texts: string[]) =>
    element("tr", {}, ...texts.map((one) => element(kind, kind === "th" ? { scope: "col" } : {}, one)));
  return element(
    "table",
    {},
    element("caption", {}, say("districts_caption", { when: alone ? own(cycle) : averaged(cycle) })),
    element("thead", {}, cells("th", heads)),
    element("tbody", {}, ...rows.map((texts) => cells("td", texts))),
  );
}

function table(): void {
  const cycle = twin.history[shown]!;
  const { grid } = twin.campaign;
  const interval =
    cycle.interval_level === null
      ? say("col_no_interval")
      : say("col_interval", { level: `${100 * cycle.interval_level} %` });
  const rows = (now.areas ?? []).map(({ row, column, rows, columns, share, low, high }) => {
    const lat = grid.north_deg - (row + rows / 2) * grid.cell_height_deg;
    const lon = grid.west_deg + (column + columns / 2) * grid.cell_width_deg;
    const size = `${words.length(columns * grid.cell_width)} × ${words.length(rows * grid.cell_height)}`;
    const where = `${lat.toFixed(4)}, ${(((lon + 540) % 360) - 180).toFixed(4)}`;
    return {
      density: share / (rows * columns),
      texts: [where, size, percent(share), `${percent(low)} – ${percent(high)}`],
    };
  });
  const singly = now.estimate
    .map((share, cell) => {
      const between = now.low && now.high ? `${percent(now.low[cell]!)} – ${percent(now.high[cell]!)}` : "–";
      const where = centre(grid, cell).map((one) => one.toFixed(4));
      return { density: share, texts: [where.join(", "), say("square_number", { cell }), percent(share), between] };
    })
    .slice(0, 5000);
  const made = (found: typeof rows, caption: string) =>
    element(
      "table",
      {},
      element("caption", {}, caption),
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          ...[say("col_centre"), say("col_size"), say("col_share"), interval].map((head) =>
            element("th", { scope: "col" }, head),
          ),
        ),
      ),
      element(
        "tbody",
        {},
        ...found
          .sort((one, other) => other.density - one.density)
          .map(({ texts }) => element("tr", {}, ...texts.map((one) => element("td", {}, one)))),
      ),
    );
  const scroll = (label: string, inside: Node, tall = "") =>
    element("div", { class: `scroll${tall}`, tabindex: "0", role: "region", "aria-label": label }, inside);
  const all = element(
    "details",
    {},
    element("summary", {}, say("squares_all", { count: words.count(twin.campaign.cells) })),
  );
  all.addEventListener("toggle", () => {
    if (all.open && all.childElementCount === 1)
      all.append(scroll(say("view_squares"), made(singly, say("squares_sorted")), " tall"));
  });
  const count = Math.min(15, singly.length);
  const first = rows.length > 0 ? rows : singly.slice(0, count);
  const caption =
    rows.length > 0
      ? say("areas_caption", { count: rows.length, when: averaged(cycle) })
      : say("squares_caption", { count, cells: words.count(twin.campaign.cells) });
  const shownFirst = now.districts ? districtTable(now.districts, cycle) : made(first, caption);
  byId("map-table").replaceChildren(scroll(say("fold_table"), shownFirst), all);
}

function legend(): (Node | string)[] {
  if (view === "areas" && now.areas?.length === 1) return [say("legend_one")];
  const largest = Math.max(...(view === "own" && now.own ? now.own : now.estimate));
  const whole = (view === "areas" && now.areas) || (view === "districts" && now.districts);
  const most = whole ? say("legend_most") : say("legend_square", { share: percent(largest) });
  return [
    element("span", {}, say("legend_fewest")),
    element("span", { class: "ramp", "aria-hidden": "true" }),
    element("span", {}, most),
    ...(view === "own" ? [] : [element("span", { class: "fade", "aria-hidden": "true" }), say("legend_faint")]),
  ];
}

function draw(): void {
  const cycle = twin.history[shown];
  if (cycle === undefined) return;
  map?.show(areasShown());
  root.dataset["shown"] = String(cycle.cycle);
  const alone = changed(cycle);
  const when = leftOut(cycle, (view === "own" && now.own !== null) || alone ? own(cycle) : averaged(cycle));
  byId("map-section-title").textContent = say("result_title", { when });
  byId("headline").textContent = alone ? "" : headline(cycle.sharpness);
  byId("map-odds").textContent = oddsInWords(cycle.map_odds);
  byId("legend").replaceChildren(...legend());
  told.textContent = "";
  table();
}

/** Fetch what is to be shown, then draw it, unless something else was asked for meanwhile. */
async function redraw(): Promise<void> {
  const asked = shown;
  const cycle = twin.history[asked];
  if (cycle === undefined) return;
  const found = await mapOf(cycle);
  if (asked !== shown) return;
  // An average that is no answer is in no view and no table: there is the round itself.
  now = changed(cycle) && found.own ? { ...found, estimate: found.own, low: null, high: null, areas: null } : found;
  if (changed(cycle) && (view === "areas" || view === "cells")) view = "own";
  offered(cycle);
  draw();
}

const buttons = new Map<View, HTMLButtonElement>();

/** Which views there are of this round: no average where it is no answer. */
function offered(cycle: ClosedCycleView): void {
  for (const [name, one] of buttons) {
    one.hidden = changed(cycle) && (name === "areas" || name === "cells");
    one.setAttribute("aria-pressed", String(name === view));
  }
}

function controls(): void {
  const named = (twin.campaign.districts ?? []).length > 0;
  if (named) view = "districts";
  for (const name of Object.keys(VIEWS) as View[]) {
    if (name === "districts" && !named) continue;
    const choose = () => {
      view = name;
      void redraw();
    };
    buttons.set(name, button(say(VIEWS[name]), choose, { class: "quiet", "aria-pressed": String(name === view) }));
  }
  const slider = element("input", {
    type: "range",
    id: "cycle",
    min: "0",
    max: String(twin.history.length - 1),
    value: String(shown),
    step: "1",
  });
  const label = element("label", { for: "cycle" });
  const name = () => {
    const cycle = twin.history[shown]!;
    const said = leftOut(cycle, say("slider", { round: cycle.cycle, last: twin.history.at(-1)!.cycle }));
    label.textContent = said;
    slider.setAttribute("aria-valuetext", said);
  };
  slider.addEventListener("input", () => {
    shown = slider.valueAsNumber;
    name();
    void redraw();
  });
  name();
  byId("map-controls").replaceChildren(
    told,
    element("div", { class: "buttons", role: "group", "aria-label": say("view_label") }, ...buttons.values()),
    ...(twin.history.length > 1 ? [label, slider] : []),
  );
}

function start(): void {
  if (twin.history.length === 0) return;
  // The latest that counts, as on the server's page.
  shown = twin.history.map((one) => one.excluded).lastIndexOf(false);
  if (shown < 0) shown = twin.history.length - 1;
  controls();
  const box = byId("map");
  map ??= new AreaMap(box, twin.campaign.grid, {
    words: {
      label: say("shares_label"),
      nearer: say("zoom_in"),
      further: say("zoom_out"),
    },
    tiles: box.dataset["tiles"] ?? "",
    outline: box.dataset["outline"] ?? "",
    onArea: tell,
  });
  void knownNames(twin.campaign.name, twin.campaign.grid).then(({ names }) => map?.call({ names, districts: [] }));
  void redraw().catch(() => undefined);
}

/** A new cycle changes most of the page: it is the server's to draw, so the page is loaded again. */
async function refresh(): Promise<void> {
  const fresh = await fetched();
  const counted = (history: ClosedCycleView[]) => history.map((one) => [one.cycle, one.excluded]).join();
  if (counted(fresh.history) !== counted(twin.history)) return location.reload();
  const { number: round, state } = fresh.campaign.cycle;
  byId("open-cycle").textContent = say(state === "open" ? "round_open" : "round_counted", { round });
}

fetched()
  .then((found) => {
    twin = found;
    start();
    setInterval(() => void refresh().catch(() => undefined), 5000);
  })
  .catch(() => undefined); // the server's own page stays as it is
