/**
 * Areas on a map: land from Natural Earth, the operator's own streets where there are some, rectangles of cells coloured
 * by a value and faded where it is uncertain, marks, names, and a scale bar. One canvas, no library, no other host.
 */
import type { Grid } from "../../clients/js/src/index.js";
import { type Colour, METRES_PER_DEGREE, type Pen, RADIAN } from "./canvas.js";
import { button, element } from "./dom.js";
import { GroundMap } from "./ground_map.js";
import { type Known, squares } from "./names.js";
import { outline, streets, tiles } from "./tiles/streets.js";

export const SHADES = 9;
const FAINTEST = 0.25; // as in the server's SVG
const SMALL = "600 10.5px system-ui, sans-serif";

interface Box {
  readonly row: number;
  readonly column: number;
  readonly rows: number;
  readonly columns: number;
}

/** Some cells together: where they lie on the grid, and how they look. */
export interface Area extends Box {
  /** Where they are no rectangle: the rectangles they are made of; their label stands in the middle of the area. */
  readonly boxes?: readonly Box[];
  /** 0 .. 8 on the ramp. */
  readonly shade: number;
  /** 1 certain .. 0 unknown. */
  readonly sure: number;
  readonly label?: string;
}

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

/** Every cell by itself, equally sure. */
export function cells(grid: Grid, values: readonly number[], sure = 1): Area[] {
  const shade = shades(values);
  return values.map((_, cell) => {
    const row = Math.floor(cell / grid.columns);
    return { row, column: cell - row * grid.columns, rows: 1, columns: 1, shade: shade[cell]!, sure };
  });
}

export interface MapWords {
  readonly label: string;
  readonly nearer: string;
  readonly further: string;
}

export interface MapOptions {
  readonly words: MapWords;
  readonly tiles?: string;
  readonly outline?: string;
  /** Somebody chose this place, by tapping it or by Enter with the place under the cross in the middle. */
  readonly onTap?: (lat: number, lon: number) => void;
  readonly onArea?: (index: number) => void;
}

export class AreaMap extends GroundMap {
  readonly #grid: Grid;
  readonly #options: MapOptions;
  #areas: readonly Area[] = [];
  /** The district of each square, where there are any. */
  #district: readonly (number | undefined)[] = [];
  #marks: Readonly<Record<string, number>> = {};
  #spot: readonly [number, number] | null = null;
  #said = -1;

  constructor(box: HTMLElement, grid: Grid, options: MapOptions) {
    const canvas = element("canvas", { "aria-hidden": "true" });
    const { label, nearer, further } = options.words;
    box.replaceChildren(
      canvas,
      element(
        "div",
        { class: "zoom" },
        button("+", () => this.zoom(0.7), { "aria-label": nearer }),
        button("−", () => this.zoom(1 / 0.7), { "aria-label": further }),
      ),
    );
    box.classList.add("live");
    for (const [name, value] of Object.entries({ tabindex: "0", role: "application", "aria-label": label }))
      box.setAttribute(name, value);
    super(box, canvas);
    this.#grid = grid;
    this.#options = options;
    this.#fit();
    void this.#load();
  }

  /** The coastline and, where there are any, the streets: the same requests for everybody, whatever they look at. */
  async #load(): Promise<void> {
    const land = import("./land.js").then(({ RINGS }) => {
      this.rings = RINGS;
      this.soon();
    });
    const { tiles: address = "", outline: line = "" } = this.#options;
    [this.streets, this.outline] = await Promise.all([
      tiles(address).then((source) => streets(source, bounds(this.#grid))),
      outline(line),
      land.catch(() => undefined),
    ]);
    this.soon();
    this.box.setAttribute("data-ready", this.streets ? "streets" : "");
  }

  show(areas: readonly Area[]): void {
    this.#areas = areas;
    this.soon();
  }

  /** Write names where no tile has any, and draw the borders of districts. */
  call({ names, districts }: Known): void {
    this.places = names;
    const owner: (number | undefined)[] = [];
    for (const [number, one] of districts.entries()) for (const cell of squares(one)) owner[cell] = number;
    this.#district = owner;
    this.box.setAttribute("data-named", String(names.length));
    this.soon();
  }

  /** This place in the middle, so near that a street's length can be pointed at. */
  lookAt(lat: number, lon: number): void {
    const [tall, wide] = [3 * this.#grid.cell_height_deg, 3 * this.#grid.cell_width_deg];
    this.fitTo(lat - tall, lon - wide, lat + tall, lon + wide, 0);
    this.moved = true;
  }

  mark(marks: Readonly<Record<string, number>>, spot: readonly [number, number] | null = null): void {
    [this.#marks, this.#spot] = [marks, spot];
    this.soon();
  }

  #fit(): void {
    const [west, south, east, north] = bounds(this.#grid);
    this.fitTo(south, west, north, east, 48);
  }

  protected override resized(): void {
    if (!this.moved) this.#fit();
    this.soon();
  }

  protected override tapped(lat: number, lon: number): void {
    this.pointed(lat, lon);
    this.#options.onTap?.(lat, lon);
  }

  protected override pointed(lat: number, lon: number): void {
    const { north_deg, west_deg, cell_height_deg, cell_width_deg } = this.#grid;
    const row = Math.floor((north_deg - lat) / cell_height_deg);
    const column = Math.floor(((((lon - west_deg) % 360) + 360) % 360) / cell_width_deg);
    const within = (area: Area) =>
      (area.boxes ?? [area]).some(
        (box) =>
          row >= box.row && row < box.row + box.rows && column >= box.column && column < box.column + box.columns,
      );
    const found = this.#areas.findIndex(within);
    if (found >= 0 && found !== this.#said) this.#options.onArea?.(found);
    this.#said = found;
  }

  #rectangle({ row, column, rows, columns }: Box): number[] {
    const { north_deg, west_deg, cell_height_deg, cell_width_deg } = this.#grid;
    const [left, top] = this.pixel(north_deg - row * cell_height_deg, west_deg + column * cell_width_deg);
    const scale = METRES_PER_DEGREE / this.metresPerPixel;
    return [left, top, columns * cell_width_deg * scale * Math.cos(this.lat * RADIAN), rows * cell_height_deg * scale];
  }

  #cell(cell: number): number[] {
    const row = Math.floor(cell / this.#grid.columns);
    return this.#rectangle({ row, column: cell - row * this.#grid.columns, rows: 1, columns: 1 });
  }

  protected override paintAreas(pen: Pen, colour: Colour): void {
    const strength = this.streets === null ? 0.92 : 0.72;
    for (const area of this.#areas) {
      const [left, top, width, height] = this.#rectangle(area);
      pen.fillStyle = colour(`q${area.shade}`);
      pen.globalAlpha = strength * (FAINTEST + (1 - FAINTEST) * area.sure);
      if (area.boxes) {
        this.#paintBoxes(pen, colour, area.boxes);
        continue;
      }
      pen.fillRect(left!, top!, width!, height!);
      if (width! > 6) {
        pen.globalAlpha = 0.5;
        pen.strokeStyle = colour("paper");
        pen.lineWidth = 1;
        pen.strokeRect(left!, top!, width!, height!);
      }
    }
    pen.globalAlpha = 1;
  }

  /** Rectangles as one area: on whole pixels, with a line around all of them. */
  #paintBoxes(pen: Pen, colour: Colour, boxes: readonly Box[]): void {
    const inside = new Set(
      boxes.flatMap(({ row, column, rows, columns }) =>
        Array.from(
          { length: rows * columns },
          (_, at) => `${row + Math.floor(at / columns)},${column + (at % columns)}`,
        ),
      ),
    );
    const corner = (row: number, column: number) =>
      this.#rectangle({ row, column, rows: 1, columns: 1 }).slice(0, 2).map(Math.round) as [number, number];
    for (const { row, column, rows, columns } of boxes) {
      const [[left, top], [right, bottom]] = [corner(row, column), corner(row + rows, column + columns)];
      pen.fillRect(left, top, right - left, bottom - top);
    }
    pen.globalAlpha = 0.8;
    pen.strokeStyle = colour("ink");
    pen.lineWidth = 1;
    pen.beginPath();
    for (const cell of inside) {
      const [row, column] = cell.split(",").map(Number) as [number, number];
      const sides = [
        [row - 1, column, [row, column], [row, column + 1]],
        [row + 1, column, [row + 1, column], [row + 1, column + 1]],
        [row, column - 1, [row, column], [row + 1, column]],
        [row, column + 1, [row, column + 1], [row + 1, column + 1]],
      ] as const;
      for (const [r, c, from, to] of sides) {
        if (inside.has(`${r},${c}`)) continue;
        pen.moveTo(...corner(...from));
        pen.lineTo(...corner(...to));
      }
    }
    pen.stroke();
  }

  protected override paintOver(pen: Pen, colour: Colour, taken: [number, number, number, number][]): void {
    const { rows, columns } = this.#grid;
    const [left, top, width, height] = this.#rectangle({ row: 0, column: 0, rows, columns });
    pen.strokeStyle = colour("soft");
    pen.lineWidth = 1.5;
    pen.strokeRect(left!, top!, width!, height!);
    this.#paintBorders(pen, colour);
    this.#paintMarks(pen, colour);
    if (this.#spot) {
      const [x, y] = this.pixel(...(this.#spot as [number, number]));
      taken.push([x - 12, y - 12, x + 12, y + 12]);
    }
    this.#paintLabels(pen, colour, taken);
  }

  /** Where one district ends and another, or none, begins. */
  #paintBorders(pen: Pen, colour: Colour): void {
    const { rows, columns } = this.#grid;
    const of = (row: number, column: number) =>
      row >= 0 && row < rows && column >= 0 && column < columns ? this.#district[row * columns + column] : undefined;
    const corner = (row: number, column: number) =>
      this.#rectangle({ row, column, rows: 1, columns: 1 }).slice(0, 2) as [number, number];
    if (this.#district.length === 0) return;
    pen.beginPath();
    for (let row = 0; row <= rows; row++)
      for (let column = 0; column <= columns; column++) {
        const here = of(row, column);
        if (here !== of(row - 1, column)) {
          pen.moveTo(...corner(row, column));
          pen.lineTo(...corner(row, column + 1));
        }
        if (here !== of(row, column - 1)) {
          pen.moveTo(...corner(row, column));
          pen.lineTo(...corner(row + 1, column));
        }
      }
    pen.strokeStyle = colour("ink");
    pen.lineWidth = 1;
    pen.globalAlpha = 0.6;
    pen.stroke();
    pen.globalAlpha = 1;
  }

  #paintMarks(pen: Pen, colour: Colour): void {
    for (const [kind, cell] of Object.entries(this.#marks)) {
      const [left, top, width, height] = this.#cell(cell);
      const grow = Math.max(0, 14 - width!) / 2;
      pen.setLineDash(kind === "here" ? [5, 4] : []);
      pen.strokeStyle = colour(kind === "here" ? "focus" : "bad");
      pen.lineWidth = kind === "here" ? 3 : 4;
      pen.strokeRect(left! - grow, top! - grow, width! + 2 * grow, height! + 2 * grow);
    }
    pen.setLineDash([]);
    if (this.#spot) this.cross(pen, this.pixel(...(this.#spot as [number, number])), colour("focus"));
    if (this.#options.onTap && document.activeElement === this.box)
      this.cross(pen, [this.width / 2, this.height / 2], colour("ink"), 8);
  }

  #paintLabels(pen: Pen, colour: Colour, taken: [number, number, number, number][]): void {
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const order = [...this.#areas].sort((one, other) => other.shade - one.shade);
    for (const area of order) {
      if (!area.label) continue;
      const [few, [left, top, width, height]] = [area.label.startsWith("<"), this.#rectangle(area)];
      // Next to nobody, next to no ink; where there is no room, the numbers without their sign, then smaller.
      const short = area.label.replace(" %", "");
      const bold = "600 13px system-ui, sans-serif";
      const tries = few
        ? [["11px system-ui, sans-serif", short]]
        : [
            [bold, area.label],
            [bold, short],
            [SMALL, short],
          ];
      const text = tries.find(([font, words]) => {
        pen.font = font!;
        return pen.measureText(words!).width + (font === SMALL ? -8 : 3) <= width!; // the fullest areas come first
      })?.[1];
      if (text !== undefined && height! >= 20)
        this.write(pen, colour, text, left! + width! / 2, top! + height! / 2, taken, few ? "soft" : "ink");
    }
    pen.textAlign = "start";
    pen.textBaseline = "alphabetic";
  }
}
