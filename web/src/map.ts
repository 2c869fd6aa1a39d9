/**
 * The grid on a map without tiles: land from Natural Earth (one file, the same for everybody), cells coloured by a value.
 * If WebGL is missing the server's SVG stays. An optional tile URL is used by the dashboard only.
 */
import maplibregl, { type GeoJSONSource, type Map as Map_, type StyleSpecification } from "maplibre-gl";
import "maplibre-gl/dist/maplibre-gl.css";
import type { Grid } from "../../clients/js/src/index.js";

export const dark = () => matchMedia("(prefers-color-scheme: dark)").matches;
const variable = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const SHADES = 9;

export function bounds(grid: Grid): [number, number, number, number] {
  return [
    grid.west_deg,
    grid.north_deg - grid.rows * grid.cell_height_deg,
    grid.west_deg + grid.columns * grid.cell_width_deg,
    grid.north_deg,
  ];
}

export function centre(grid: Grid, cell: number): [number, number] {
  const row = Math.floor(cell / grid.columns);
  const lon = grid.west_deg + (cell - row * grid.columns + 0.5) * grid.cell_width_deg;
  return [grid.north_deg - (row + 0.5) * grid.cell_height_deg, ((lon + 540) % 360) - 180];
}

/** Equal steps of the square root of the value, as in the server's SVG. */
export function shades(values: readonly number[]): number[] {
  const top = values.reduce((a, b) => Math.max(a, b), 0);
  return values.map((value) =>
    top > 0 ? Math.min(SHADES - 1, Math.floor(Math.sqrt(Math.max(0, value) / top) * SHADES)) : 0,
  );
}

function corners(grid: Grid, cell: number): [number, number][] {
  const row = Math.floor(cell / grid.columns);
  const west = grid.west_deg + (cell - row * grid.columns) * grid.cell_width_deg;
  const north = grid.north_deg - row * grid.cell_height_deg;
  const [east, south] = [west + grid.cell_width_deg, north - grid.cell_height_deg];
  return [
    [west, north],
    [east, north],
    [east, south],
    [west, south],
    [west, north],
  ];
}

function cellsOf(grid: Grid, values: readonly number[]): GeoJSON.FeatureCollection {
  const shade = shades(values);
  return {
    type: "FeatureCollection",
    features: values.map((_, cell) => ({
      type: "Feature",
      id: cell,
      properties: { cell, shade: shade[cell] },
      geometry: { type: "Polygon", coordinates: [corners(grid, cell)] },
    })),
  };
}

function doubtsOf(grid: Grid, doubtful: readonly boolean[]): GeoJSON.FeatureCollection {
  const features = doubtful.flatMap((is, cell): GeoJSON.Feature[] => {
    const [lat, lon] = centre(grid, cell);
    return is ? [{ type: "Feature", properties: {}, geometry: { type: "Point", coordinates: [lon, lat] } }] : [];
  });
  return { type: "FeatureCollection", features };
}

function marksOf(grid: Grid, marks: Record<string, number>): GeoJSON.FeatureCollection {
  return {
    type: "FeatureCollection",
    features: Object.entries(marks).map(([kind, cell]) => ({
      type: "Feature",
      properties: { kind },
      geometry: { type: "Polygon", coordinates: [corners(grid, cell)] },
    })),
  };
}

function style(tiles: string): StyleSpecification {
  const empty = { type: "FeatureCollection", features: [] } as GeoJSON.FeatureCollection;
  const ramp = Array.from({ length: SHADES }, (_, shade) => [shade, variable(`--q${shade}`)]).flat();
  return {
    version: 8,
    sources: {
      land: { type: "geojson", data: "/static/bundle/land.json", attribution: "Natural Earth" },
      cells: { type: "geojson", data: empty },
      doubts: { type: "geojson", data: empty },
      marks: { type: "geojson", data: empty },
      ...(tiles ? { tiles: { type: "raster" as const, tiles: [tiles], tileSize: 256 } } : {}),
    },
    layers: [
      { id: "sea", type: "background", paint: { "background-color": variable("--sea") } },
      {
        id: "land",
        type: "fill",
        source: "land",
        paint: { "fill-color": variable("--land"), "fill-outline-color": variable("--soft") },
      },
      ...(tiles ? [{ id: "tiles", type: "raster" as const, source: "tiles" }] : []),
      {
        id: "cells",
        type: "fill",
        source: "cells",
        paint: {
          "fill-color": ["interpolate", ["linear"], ["get", "shade"], ...ramp] as never,
          "fill-opacity": tiles ? 0.75 : 1,
          "fill-outline-color": variable("--paper"),
        },
      },
      {
        id: "doubts",
        type: "circle",
        source: "doubts",
        paint: {
          "circle-radius": 2.5,
          "circle-color": "rgba(0,0,0,0)",
          "circle-stroke-width": 1,
          "circle-stroke-color": variable("--ink"),
          "circle-stroke-opacity": 0.55,
        },
      },
      {
        id: "marks",
        type: "line",
        source: "marks",
        paint: {
          "line-width": 4,
          "line-color": [
            "match",
            ["get", "kind"],
            "report",
            variable("--bad"),
            "chosen",
            variable("--ink"),
            variable("--focus"),
          ],
          "line-dasharray": ["match", ["get", "kind"], "here", ["literal", [1, 1]], ["literal", [1, 0]]] as never,
        },
      },
    ],
  };
}

export interface CellMap {
  show(values: readonly number[], doubtful?: readonly boolean[]): void;
  mark(marks: Record<string, number>): void;
  ready: Promise<void>;
}

/** Replace the server's SVG by a map, or give null where the browser cannot draw one. */
export function cellMap(
  container: HTMLElement,
  grid: Grid,
  options: { label: string; tiles?: string; onCell?: (cell: number) => void },
): CellMap | null {
  const before = container.innerHTML;
  let map: Map_;
  container.replaceChildren();
  container.classList.add("live");
  try {
    map = new maplibregl.Map({
      container,
      style: style(options.tiles ?? ""),
      bounds: bounds(grid),
      fitBoundsOptions: { padding: 24 },
      attributionControl: options.tiles ? { compact: true } : false, // the footer names Natural Earth
      cooperativeGestures: true,
      dragRotate: false,
      pitchWithRotate: false,
      renderWorldCopies: true,
      locale: { "Map.Title": options.label },
    });
  } catch {
    container.innerHTML = before;
    container.classList.remove("live");
    return null;
  }
  map.touchZoomRotate.disableRotation();
  map.addControl(new maplibregl.NavigationControl({ showCompass: false }));
  let moved = false;
  map.on("dragstart", () => (moved = true));
  map.on("zoomstart", (event) => (moved ||= event.originalEvent !== undefined));
  map.on("resize", () => void (moved || map.fitBounds(bounds(grid), { padding: 24, animate: false })));
  const ready = new Promise<void>((resolve) => map.on("load", () => resolve()));
  void ready.then(() => container.setAttribute("data-ready", ""));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    const kept = (["cells", "doubts", "marks"] as const).map((name) => [name, last[name]] as const);
    map.setStyle(style(options.tiles ?? ""));
    map.once("styledata", () => {
      for (const [name, data] of kept) if (data) (map.getSource(name) as GeoJSONSource).setData(data);
    });
  });
  if (options.onCell) {
    const act = options.onCell;
    const told = (event: { features?: { properties: Record<string, unknown> }[] }) => {
      const cell = event.features?.[0]?.properties["cell"];
      if (typeof cell === "number") act(cell);
    };
    map.on("mousemove", "cells", told);
    map.on("click", "cells", told);
  }
  const last: Partial<Record<"cells" | "doubts" | "marks", GeoJSON.FeatureCollection>> = {};
  const set = (name: "cells" | "doubts" | "marks", data: GeoJSON.FeatureCollection) => {
    last[name] = data;
    void ready.then(() => (map.getSource(name) as GeoJSONSource | undefined)?.setData(data));
  };
  return {
    ready,
    show: (values, doubtful = []) => {
      set("cells", cellsOf(grid, values));
      set("doubts", doubtsOf(grid, doubtful));
    },
    mark: (marks) => set("marks", marksOf(grid, marks)),
  };
}
