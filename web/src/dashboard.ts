/**
 * The operator's dashboard: a live map with uncertainty, a cycle slider, charts. Numbers come from the JSON twin, maps
 * page by page and only those that are looked at.
 */
import * as Plot from "@observablehq/plot";
import type { ClosedCycleView, DashboardAnswer, MapAnswer } from "../../clients/js/src/api.js";
import { button, byId, element, percent } from "./dom.js";
import { type CellMap, cellMap, centre, shades } from "./map.js";

type View = "own" | "estimate" | "uncertainty" | "change";
const VIEWS: Record<View, string> = {
  own: "This cycle",
  estimate: "Average of the cycles",
  uncertainty: "Uncertainty of the average",
  change: "Change of the average",
};
const root = byId("dashboard");
const home = `/campaigns/${root.dataset["campaign"] ?? ""}`;

/** One cycle's map over all its pages; there are no intervals above 2,500 cells, and no own map in old cycles. */
interface WholeMap {
  estimate: number[];
  own: number[] | null;
  low: number[] | null;
  high: number[] | null;
}

let twin: DashboardAnswer;
let map: CellMap | null = null;
let view: View = "own";
let shown = 0;
let now: WholeMap;
let before: WholeMap | null = null;
const maps = new Map<number, Promise<WholeMap>>();

async function json(address: string): Promise<unknown> {
  const reply = await fetch(address, { credentials: "omit", cache: "no-cache" });
  if (!reply.ok) throw new Error(String(reply.status));
  return await reply.json();
}

const fetched = async () => (await json(`${home}/dashboard.json`)) as DashboardAnswer;

async function wholeMap(cycle: number): Promise<WholeMap> {
  const whole: WholeMap = { estimate: [], own: [], low: [], high: [] };
  const add = (into: number[] | null, part: number[] | null) =>
    into === null || part === null ? null : into.concat(part);
  for (let page = 1; page <= twin.map_pages; page++) {
    const { map: part } = (await json(`${home}/maps/${cycle}/${page}.json`)) as MapAnswer;
    whole.estimate = whole.estimate.concat(part.estimate);
    whole.own = add(whole.own, part.this_cycle);
    whole.low = add(whole.low, part.low);
    whole.high = add(whole.high, part.high);
  }
  return whole;
}

function mapOf(cycle: ClosedCycleView): Promise<WholeMap> {
  const found = maps.get(cycle.cycle) ?? wholeMap(cycle.cycle);
  maps.set(cycle.cycle, found);
  found.catch(() => maps.delete(cycle.cycle));
  return found;
}

/** How wide a cell's interval is, where there is one. */
function widthOf(cell: number): number | null {
  return now.low === null || now.high === null ? null : now.high[cell]! - now.low[cell]!;
}

const share = (value: number | null | undefined) => (value === null || value === undefined ? "–" : percent(value));
const levelOf = (cycle: ClosedCycleView) => (cycle.interval_level === null ? "No" : `${100 * cycle.interval_level} %`);

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

const ownShown = () => view === "own" && now.own !== null;

function valuesOf(): number[] {
  if (view === "uncertainty") return now.estimate.map((_, cell) => widthOf(cell) ?? 0);
  if (view === "change") return now.estimate.map((one, cell) => Math.abs(one - (before?.estimate[cell] ?? one)));
  return ownShown() ? now.own! : now.estimate;
}

const told = element(
  "p",
  { class: "status soft", "aria-live": "polite", id: "cell-told" },
  "Point at a cell for its numbers, or read the table below the map.",
);

function tell(cell: number): void {
  const cycle = twin.history[shown]!;
  const [lat, lon] = centre(twin.campaign.grid, cell);
  const mine = now.own === null ? "" : `${percent(now.own[cell]!)} in this cycle; `;
  const interval =
    cycle.interval_level === null
      ? ""
      : `, ${levelOf(cycle)} interval ${share(now.low?.[cell])} to ${share(now.high?.[cell])}`;
  told.textContent = `Cell ${cell} (${lat.toFixed(4)}, ${lon.toFixed(4)}): ${mine}${percent(now.estimate[cell]!)} in the ${averaged(cycle)}${interval}.`;
}

function legend(values: number[]): void {
  const top = values.reduce((a, b) => Math.max(a, b), 0);
  const about = {
    own: "in one cell",
    estimate: "in one cell",
    uncertainty: "interval width",
    change: "moved in one cell",
  }[view];
  byId("legend").replaceChildren(
    element("span", {}, "0"),
    element("span", { class: "ramp", "aria-hidden": "true" }),
    element("span", {}, `${percent(top)} ${about} (square-root scale)`),
    ...(view === "estimate" ? [element("span", {}, "○ uncertain: interval wider than twice the estimate")] : []),
  );
}

/** The map's twin: every cell of the shown cycle, largest first. */
function table(): void {
  const cycle = twin.history[shown]!;
  const { grid } = twin.campaign;
  const values = ownShown() ? now.own! : now.estimate;
  const order = values.map((_, cell) => cell).sort((a, b) => values[b]! - values[a]!);
  const row = (cell: number) => {
    const [lat, lon] = centre(grid, cell);
    const texts = [
      `${cell} (row ${Math.floor(cell / grid.columns)}, column ${cell % grid.columns})`,
      `${lat.toFixed(4)}, ${lon.toFixed(4)}`,
      share(now.own?.[cell]),
      percent(now.estimate[cell]!),
      `${share(now.low?.[cell])} – ${share(now.high?.[cell])}`,
    ];
    return element("tr", {}, ...texts.map((text) => element("td", {}, text)));
  };
  const heads = ["Cell", "Centre", "This cycle", "Average", `${levelOf(cycle)} interval of the average`];
  const made = (cells: number[], caption: string) =>
    element(
      "table",
      {},
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, ...cells.map(row)),
    );
  const all = element("details", {}, element("summary", {}, `All ${order.length} cells`));
  all.addEventListener("toggle", () => {
    if (all.open && all.childElementCount === 1)
      all.append(
        element(
          "div",
          { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "All cells" },
          made(order.slice(0, 5000), "Every cell, largest first."),
        ),
      );
  });
  byId("map-table").replaceChildren(
    element(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "The map as a table" },
      made(order.slice(0, 10), `The map as a table: the 10 largest of ${order.length} cells in cycle ${cycle.cycle}.`),
    ),
    all,
  );
}

function draw(): void {
  const cycle = twin.history[shown];
  if (cycle === undefined) return;
  const values = valuesOf();
  const shade = shades(values);
  const wide = (one: number, cell: number) => shade[cell]! > 0 && (widthOf(cell) ?? 0) > 2 * one;
  map?.show(values, view === "estimate" ? now.estimate.map(wide) : []);
  root.dataset["shown"] = String(cycle.cycle);
  const words = ownShown() ? own(cycle) : averaged(cycle);
  byId("map-section-title").textContent = `Where ${cycle.target} are, ${words}${leftOut(cycle)}`;
  legend(values);
  table();
}

/** Fetch what is to be shown, then draw it, unless something else was asked for meanwhile. */
async function redraw(): Promise<void> {
  const asked = shown;
  const cycle = twin.history[asked];
  if (cycle === undefined) return;
  const earlier = view === "change" ? twin.history[asked - 1] : undefined;
  const [one, other] = await Promise.all([mapOf(cycle), earlier === undefined ? null : mapOf(earlier)]);
  if (asked !== shown) return;
  [now, before] = [one, other];
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
    const words = `Cycle ${twin.history[shown]!.cycle} of ${twin.history.at(-1)!.cycle}${leftOut(twin.history[shown]!)}`;
    output.textContent = words;
    slider.setAttribute("aria-valuetext", words);
  };
  slider.addEventListener("input", () => {
    shown = slider.valueAsNumber;
    name();
    void redraw();
  });
  name();
  byId("map-controls").replaceChildren(
    element("div", { class: "buttons", role: "group", "aria-label": "What the map shows" }, ...buttons),
    ...(twin.history.length > 1 ? [element("label", { for: "cycle" }, "Cycle shown: ", output), slider] : []),
    told,
  );
}

function chart(title: string, unit: string, marks: Plot.Markish[], options: Plot.PlotOptions = {}): HTMLElement {
  const drawn = Plot.plot({
    height: 170,
    width: 340,
    marginLeft: 48,
    style: { fontSize: "12px", background: "transparent" },
    ariaLabel: title,
    x: {
      label: "cycle",
      ticks: twin.history.length > 12 ? 6 : twin.history.map(({ cycle }) => cycle),
      tickFormat: "d",
    },
    y: { label: unit, grid: true, zero: true, nice: true },
    marks: [Plot.ruleY([0], { strokeOpacity: 0.4 }), ...marks],
    ...options,
  });
  // One picture with one name: the names Plot gives to its groups are not allowed on them.
  for (const group of drawn.querySelectorAll("g[aria-label]")) group.removeAttribute("aria-label");
  const picture = drawn.matches("svg") ? drawn : drawn.querySelector("svg:last-of-type");
  picture?.setAttribute("role", "img");
  picture?.setAttribute("aria-label", title);
  return element("figure", {}, element("figcaption", {}, title), drawn as unknown as Node);
}

function charts(): void {
  const accent = "var(--accent)";
  const history = twin.history;
  const line = (y: (one: ClosedCycleView) => number | null) => [
    Plot.lineY(history, { x: "cycle", y, stroke: accent, strokeWidth: 2 }),
    Plot.dot(history, {
      x: "cycle",
      y,
      fill: (one: ClosedCycleView) => (one.excluded ? "var(--card)" : accent),
      stroke: accent,
      r: 3,
      title: (one: ClosedCycleView) => `cycle ${one.cycle}${leftOut(one)}: ${y(one)?.toPrecision(4) ?? "–"}`,
    }),
  ];
  const fakes = history.flatMap((one) =>
    Object.entries(one.influence).map(([share, moved]) => ({
      cycle: one.cycle,
      share: `${100 * Number(share)} % fake`,
      moved,
    })),
  );
  byId("charts").className = "charts";
  byId("charts").replaceChildren(
    chart(
      "How far the map moved (earth mover's distance)",
      "m",
      line((one) => one.emd_to_previous_m),
    ),
    chart("Exact ε per km, and 2β which it never passes", "per km", [
      ...line((one) => one.epsilon_per_km.upper),
      Plot.lineY(history, { x: "cycle", y: "two_beta_per_km", stroke: "currentColor", strokeDasharray: "4 3" }),
    ]),
    chart(
      "Mutual information per report",
      "nats",
      line((one) => one.mutual_information_nats),
    ),
    chart(
      "Mean distortion",
      "m",
      line((one) => one.distortion_m),
    ),
    chart(
      "Residual test (p value; small is suspicious)",
      "p",
      line((one) => one.residual.p_value),
      { y: { domain: [0, 1], grid: true, label: "p" } },
    ),
    chart(
      "How far fake reports would move the map",
      "m",
      [Plot.lineY(fakes, { x: "cycle", y: "moved", stroke: "share", strokeWidth: 2, marker: "dot" })],
      { color: { legend: true, range: ["var(--q5)", "var(--bad)"] } },
    ),
  );
}

function start(): void {
  if (twin.history.length === 0) return;
  // The latest that counts, as on the server's page.
  shown = twin.history.map((one) => one.excluded).lastIndexOf(false);
  if (shown < 0) shown = twin.history.length - 1;
  controls();
  map ??= cellMap(byId("map"), twin.campaign.grid, {
    label: "Estimated share per cell; the table below lists the same numbers",
    tiles: root.dataset["tiles"] ?? "",
    onCell: tell,
  });
  void redraw().catch(() => undefined);
  charts();
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
