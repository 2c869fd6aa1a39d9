/** The operator's dashboard: a live map with uncertainty, a cycle slider, charts; refreshed from the JSON twin. */
import * as Plot from "@observablehq/plot";
import type { DashboardAnswer, EstimatedCycleView } from "../../clients/js/src/api.js";
import { button, byId, element, percent } from "./dom.js";
import { type CellMap, cellMap, centre, shades } from "./map.js";

type View = "estimate" | "uncertainty" | "change";
const VIEWS: Record<View, string> = {
  estimate: "Estimate",
  uncertainty: "Uncertainty",
  change: "Change since the previous",
};
const root = byId("dashboard");
const address = `/campaigns/${root.dataset["campaign"] ?? ""}/dashboard.json`;

let twin: DashboardAnswer;
let map: CellMap | null = null;
let view: View = "estimate";
let shown = 0;

async function fetched(): Promise<DashboardAnswer> {
  const reply = await fetch(address, { credentials: "omit", cache: "no-store" });
  if (!reply.ok) throw new Error(String(reply.status));
  return (await reply.json()) as DashboardAnswer;
}

/** How wide a cell's interval is; above 2,500 cells there is none. */
function widthOf(cycle: EstimatedCycleView, cell: number): number | null {
  const [low, high] = [cycle.low[cell] ?? null, cycle.high[cell] ?? null];
  return low === null || high === null ? null : high - low;
}

const share = (value: number | null | undefined) => (value === null || value === undefined ? "–" : percent(value));
const levelOf = (cycle: EstimatedCycleView) =>
  cycle.interval_level === null ? "No" : `${100 * cycle.interval_level} %`;

function valuesOf(index: number): number[] {
  const cycle = twin.history[index]!;
  if (view === "uncertainty") return cycle.estimate.map((_, cell) => widthOf(cycle, cell) ?? 0);
  const before = twin.history[index - 1];
  if (view === "change") return cycle.estimate.map((one, cell) => Math.abs(one - (before?.estimate[cell] ?? one)));
  return cycle.estimate;
}

const told = element(
  "p",
  { class: "status soft", "aria-live": "polite", id: "cell-told" },
  "Point at a cell for its numbers, or read the table below the map.",
);

function tell(cell: number): void {
  const cycle = twin.history[shown]!;
  const [lat, lon] = centre(twin.campaign.grid, cell);
  told.textContent = `Cell ${cell} (${lat.toFixed(4)}, ${lon.toFixed(4)}): ${percent(cycle.estimate[cell]!)}${cycle.interval_level === null ? "" : `, ${levelOf(cycle)} interval ${share(cycle.low[cell])} to ${share(cycle.high[cell])}`}.`;
}

function legend(values: number[]): void {
  const top = values.reduce((a, b) => Math.max(a, b), 0);
  const about = { estimate: "in one cell", uncertainty: "interval width", change: "moved in one cell" }[view];
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
  const order = cycle.estimate.map((_, cell) => cell).sort((a, b) => cycle.estimate[b]! - cycle.estimate[a]!);
  const row = (cell: number) => {
    const [lat, lon] = centre(grid, cell);
    const texts = [
      `${cell} (row ${Math.floor(cell / grid.columns)}, column ${cell % grid.columns})`,
      `${lat.toFixed(4)}, ${lon.toFixed(4)}`,
      percent(cycle.estimate[cell]!),
      `${share(cycle.low[cell])} – ${share(cycle.high[cell])}`,
    ];
    return element("tr", {}, ...texts.map((text) => element("td", {}, text)));
  };
  const heads = ["Cell", "Centre", "Estimate", `${levelOf(cycle)} interval`];
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

function redraw(): void {
  const cycle = twin.history[shown];
  if (cycle === undefined) return;
  const values = valuesOf(shown);
  const shade = shades(values);
  const wide = (one: number, cell: number) => shade[cell]! > 0 && (widthOf(cycle, cell) ?? 0) > 2 * one;
  const doubtful = view === "estimate" ? cycle.estimate.map(wide) : [];
  map?.show(values, doubtful);
  root.dataset["shown"] = String(cycle.cycle);
  byId("map-section-title").textContent = `Where ${cycle.target} are, cycle ${cycle.cycle}`;
  legend(values);
  table();
}

function controls(): void {
  const buttons = (Object.keys(VIEWS) as View[]).map((name) =>
    button(
      VIEWS[name],
      () => {
        view = name;
        for (const one of buttons) one.setAttribute("aria-pressed", String(one.textContent === VIEWS[name]));
        redraw();
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
    const words = `Cycle ${twin.history[shown]!.cycle} of ${twin.history.length}`;
    output.textContent = words;
    slider.setAttribute("aria-valuetext", words);
  };
  slider.addEventListener("input", () => {
    shown = slider.valueAsNumber;
    name();
    redraw();
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
  const line = (y: (one: EstimatedCycleView) => number | null) => [
    Plot.lineY(history, { x: "cycle", y, stroke: accent, strokeWidth: 2 }),
    Plot.dot(history, {
      x: "cycle",
      y,
      fill: accent,
      r: 3,
      title: (one: EstimatedCycleView) => `cycle ${one.cycle}: ${y(one)?.toPrecision(4) ?? "–"}`,
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
  shown = twin.history.length - 1;
  controls();
  map ??= cellMap(byId("map"), twin.campaign.grid, {
    label: "Estimated share per cell; the table below lists the same numbers",
    tiles: root.dataset["tiles"] ?? "",
    onCell: tell,
  });
  redraw();
  charts();
}

/** A new cycle changes most of the page: it is the server's to draw, so the page is loaded again. */
async function refresh(): Promise<void> {
  const fresh = await fetched();
  if (fresh.history.at(-1)?.cycle !== twin.history.at(-1)?.cycle) return location.reload();
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
