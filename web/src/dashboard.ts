/**
 * The map of a campaign: areas that can be told apart, faded where they are uncertain; a slider through the cycles.
 * Numbers come from the JSON twin, maps page by page and only those that are looked at.
 */
import type { AreaView, ClosedCycleView, DashboardAnswer, MapAnswer } from "../../clients/js/src/api.js";
import { button, byId, element, percent } from "./dom.js";
import { type Area, AreaMap, cells, centre, shades } from "./map.js";

type View = "areas" | "cells" | "own";
const VIEWS: Record<View, string> = { areas: "Areas told apart", cells: "Every square", own: "This cycle alone" };
const root = byId("dashboard");
const home = `/campaigns/${root.dataset["campaign"] ?? ""}`;

/** One cycle's map over all its pages; there are no areas above 2,500 cells, and neither in old cycles. */
interface WholeMap {
  estimate: number[];
  own: number[] | null;
  low: number[] | null;
  high: number[] | null;
  areas: AreaView[] | null;
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
  const whole: WholeMap = { estimate: [], own: [], low: [], high: [], areas: null };
  const add = (into: number[] | null, part: number[] | null) =>
    into === null || part === null ? null : into.concat(part);
  for (let page = 1; page <= twin.map_pages; page++) {
    const { map: part } = (await json(`${home}/maps/${cycle}/${page}.json`)) as MapAnswer;
    whole.estimate = whole.estimate.concat(part.estimate);
    whole.own = add(whole.own, part.this_cycle);
    whole.low = add(whole.low, part.low);
    whole.high = add(whole.high, part.high);
    whole.areas = part.areas;
  }
  return whole;
}

function mapOf(cycle: ClosedCycleView): Promise<WholeMap> {
  const found = maps.get(cycle.cycle) ?? wholeMap(cycle.cycle);
  maps.set(cycle.cycle, found);
  found.catch(() => maps.delete(cycle.cycle));
  return found;
}

/** The average, said as what it is: over how many cycles. */
function averaged(cycle: ClosedCycleView): string {
  const count = cycle.averaged_cycles ?? 1;
  if (count <= 1) return `cycle ${cycle.cycle}`;
  const out = new Set(cycle.excluded_cycles ?? []);
  let first = cycle.cycle;
  for (let missing = count - 1; missing > 0 && first > 0; ) if (!out.has(--first)) missing -= 1;
  const between = [...out].filter((one) => one > first && one < cycle.cycle).sort((a, b) => a - b);
  const without = between.length > 0 ? ` without ${between.join(", ").replace(/, (\d+)$/, " and $1")}` : "";
  return `average of cycles ${first} to ${cycle.cycle}${without}`;
}

/** Said beside a cycle that the operator left out of the map: what is shown of it is as it was published. */
const leftOut = (cycle: ClosedCycleView) => (cycle.excluded ? ", left out of the map by the operator" : "");

/** The cycle's own map; where classes were declared, that of the cycles like it. */
function own(cycle: ClosedCycleView): string {
  const others = (cycle.class_cycles ?? 1) - 1;
  return `cycle ${cycle.cycle}${others > 0 ? ` with the ${others} other ${cycle.cycle_class} cycles` : ""}`;
}

/** 12–17 %, as on the server. */
function span(low: number, high: number): string {
  const [least, most] = [Math.round(100 * low), Math.round(100 * high)];
  if (most < 1) return "under 1 %";
  return least === most ? `${most} %` : `${least}–${most} %`;
}

/** 1 certain .. 0 unknown: an interval beside twice the share, or an even one. */
const sure = (share: number, low: number, high: number, even: number) =>
  Math.min(1, Math.max(0, 1 - (high - low) / (2 * Math.max(share, even))));

function areasShown(): Area[] {
  const { grid, cells: count } = twin.campaign;
  if (view === "own" && now.own !== null) return cells(grid, now.own);
  if (view === "areas" && now.areas !== null) {
    const found = now.areas;
    const shade = shades(found.map(({ share, rows, columns }) => share / (rows * columns)));
    return found.map(({ share, low, high, ...box }, index) => ({
      ...box,
      shade: shade[index]!,
      sure: sure(share, low, high, (box.rows * box.columns) / count),
      ...(found.length > 1 ? { label: span(low, high) } : {}),
    }));
  }
  return cells(grid, now.estimate).map((area, cell) => ({
    ...area,
    sure: now.low && now.high ? sure(now.estimate[cell]!, now.low[cell]!, now.high[cell]!, 1 / count) : 1,
  }));
}

const told = element("p", { class: "soft", "aria-live": "polite", id: "cell-told" });

function tell(index: number): void {
  const level = twin.history[shown]!.interval_level;
  const area = view === "areas" ? now.areas?.[index] : undefined;
  if (area) {
    told.textContent = `${span(area.low, area.high)} of the people are in this area (${100 * (level ?? 0)} % interval; best estimate ${percent(area.share)}).`;
    return;
  }
  const [lat, lon] = centre(twin.campaign.grid, index);
  const value = view === "own" && now.own ? now.own[index]! : now.estimate[index]!;
  const interval =
    view !== "own" && now.low && now.high
      ? `, between ${percent(now.low[index]!)} and ${percent(now.high[index]!)}`
      : "";
  told.textContent = `Square at ${lat.toFixed(4)}, ${lon.toFixed(4)}: ${percent(value)}${interval}.`;
}

function table(): void {
  const cycle = twin.history[shown]!;
  const { grid } = twin.campaign;
  const level = cycle.interval_level === null ? "No" : `${100 * cycle.interval_level} %`;
  const rows = (now.areas ?? []).map(({ row, column, rows, columns, share, low, high }) => {
    const lat = grid.north_deg - (row + rows / 2) * grid.cell_height_deg;
    const lon = grid.west_deg + (column + columns / 2) * grid.cell_width_deg;
    const size = `${Math.round(columns * grid.cell_width)} × ${Math.round(rows * grid.cell_height)} m`;
    const where = `${lat.toFixed(4)}, ${(((lon + 540) % 360) - 180).toFixed(4)}`;
    return {
      density: share / (rows * columns),
      texts: [where, size, percent(share), `${percent(low)} – ${percent(high)}`],
    };
  });
  const singly = now.estimate
    .map((share, cell) => {
      const interval = now.low && now.high ? `${percent(now.low[cell]!)} – ${percent(now.high[cell]!)}` : "– – –";
      const where = centre(grid, cell).map((one) => one.toFixed(4));
      return { density: share, texts: [where.join(", "), `square ${cell}`, percent(share), interval] };
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
          ...["Centre", "Size", "Share", `${level} interval`].map((head) => element("th", { scope: "col" }, head)),
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
  const all = element("details", {}, element("summary", {}, `All ${twin.campaign.cells} squares`));
  all.addEventListener("toggle", () => {
    if (all.open && all.childElementCount === 1)
      all.append(scroll("All squares", made(singly, "Every square, fullest first."), " tall"));
  });
  const first = rows.length > 0 ? rows : singly.slice(0, 15);
  byId("map-table").replaceChildren(
    scroll("The map as a table", made(first, `${first.length} areas, densest first (${averaged(cycle)}).`)),
    all,
  );
}

function draw(): void {
  const cycle = twin.history[shown];
  if (cycle === undefined) return;
  map?.show(areasShown());
  root.dataset["shown"] = String(cycle.cycle);
  const words = view === "own" && now.own !== null ? own(cycle) : averaged(cycle);
  byId("map-section-title").textContent = `Where ${cycle.target} are, ${words}${leftOut(cycle)}`;
  byId("headline").textContent = cycle.headline;
  const top =
    view === "areas" && now.areas
      ? "most people to the km²"
      : `${percent(Math.max(...(view === "own" && now.own ? now.own : now.estimate)))} in one square`;
  byId("legend").replaceChildren(
    element("span", {}, "fewest"),
    element("span", { class: "ramp", "aria-hidden": "true" }),
    element("span", {}, top),
    ...(view === "own" ? [] : [element("span", { class: "fade", "aria-hidden": "true" }), "paler: less certain"]),
  );
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
  now = found;
  draw();
}

function controls(): void {
  const buttons = (Object.keys(VIEWS) as View[]).map((name) =>
    button(
      VIEWS[name],
      () => {
        view = name;
        for (const one of buttons) one.setAttribute("aria-pressed", String(one.textContent === VIEWS[name]));
        void redraw();
      },
      { class: "quiet", "aria-pressed": String(name === view) },
    ),
  );
  const slider = element("input", {
    type: "range",
    id: "cycle",
    min: "0",
    max: String(twin.history.length - 1),
    value: String(shown),
    step: "1",
  });
  const output = element("output", { for: "cycle" });
  const name = () => {
    const words = `${twin.history[shown]!.cycle} of ${twin.history.at(-1)!.cycle}${leftOut(twin.history[shown]!)}`;
    output.textContent = words;
    slider.setAttribute("aria-valuetext", `Cycle ${words}`);
  };
  slider.addEventListener("input", () => {
    shown = slider.valueAsNumber;
    name();
    void redraw();
  });
  name();
  byId("map-controls").replaceChildren(
    told,
    element("div", { class: "buttons", role: "group", "aria-label": "What the map shows" }, ...buttons),
    ...(twin.history.length > 1 ? [element("label", { for: "cycle" }, "Cycle ", output), slider] : []),
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
      label: "Map of shares; the table below lists the same numbers. Arrow keys move it, plus and minus zoom.",
      nearer: "Zoom in",
      further: "Zoom out",
    },
    tiles: box.dataset["tiles"] ?? "",
    outline: box.dataset["outline"] ?? "",
    onArea: tell,
  });
  void redraw().catch(() => undefined);
}

/** A new cycle changes most of the page: it is the server's to draw, so the page is loaded again. */
async function refresh(): Promise<void> {
  const fresh = await fetched();
  const counted = (history: ClosedCycleView[]) => history.map((one) => [one.cycle, one.excluded]).join();
  if (counted(fresh.history) !== counted(twin.history)) return location.reload();
  const { number, state, reports, version } = fresh.campaign.cycle;
  byId("open-cycle").textContent =
    `Cycle ${number} is ${state}: about ${reports.toLocaleString("en")} reports so far (rounded down to tens). Version ${version.slice(0, 12)}…`;
}

fetched()
  .then((found) => {
    twin = found;
    start();
    setInterval(() => void refresh().catch(() => undefined), 5000);
  })
  .catch(() => undefined); // the server's own page stays as it is
