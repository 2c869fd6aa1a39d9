/**
 * A map to draw a rectangle on: by mouse, by finger, or corner by corner from the keyboard. It asks this server alone,
 * for the tiles of what is looked at: there is no campaign yet whose rectangle everybody could ask for.
 */
import type { PlacesAnswer } from "../../../clients/js/src/api.js";
import { type Colour, METRES_PER_DEGREE, near, type Pen, RADIAN } from "../canvas.js";
import { button, element } from "../dom.js";
import { GroundMap } from "../ground_map.js";
import { nameOf } from "../names.js";
import type { Bounds, Source } from "../tiles/pmtiles.js";
import { outline, streets, tiles } from "../tiles/streets.js";
import type { Ring } from "./districts.js";
import { ask } from "./session.js";
import { say } from "./words.js";

export interface Area {
  readonly south: number;
  readonly west: number;
  readonly north: number;
  readonly east: number;
}

interface Options {
  /** What to look at first: where campaigns were before, or the world. */
  readonly view: Area | null;
  readonly drawn: (area: Area) => void;
  /** The operator's own tiles and outline: addresses of this site, or empty. */
  readonly tiles: string;
  readonly outline: string;
}

const LEAST_PIXELS = 6;
const FARTHEST_NORTH = 85;
const STILL_MS = 200;
const AROUND = 0.3;
const COARSEST = 2_000;

export class DrawMap extends GroundMap {
  readonly drawButton: HTMLButtonElement;
  readonly #options: Options;
  readonly #sheet = element("div", { class: "sheet" });
  readonly #hint = element("p", { class: "soft", id: "draw-hint", role: "status" });
  #area: Area | null = null;
  #corner: readonly [number, number] | null = null;
  #cell = 500;
  #source: Source | null = null;
  /** What the streets were asked for, at which scale. */
  #asked: { readonly bounds: Bounds; readonly scale: number } | null = null;
  #districts: readonly Ring[] = [];
  /** What names were asked for. */
  #seen = "";
  #waiting = 0;

  constructor(box: HTMLElement, options: Options) {
    const canvas = element("canvas", { "aria-hidden": "true" });
    const zoom = element(
      "div",
      { class: "zoom" },
      button("+", () => this.zoom(0.7), { "aria-label": say("nearer") }),
      button("−", () => this.zoom(1 / 0.7), { "aria-label": say("further") }),
    );
    box.append(canvas, zoom);
    for (const [name, value] of Object.entries({
      tabindex: "0",
      role: "application",
      "aria-label": say("draw_map"),
    }))
      box.setAttribute(name, value);
    super(box, canvas);
    this.#options = options;
    this.drawButton = button(
      say("draw_area"),
      () => this.#drawing(this.drawButton.getAttribute("aria-pressed") !== "true"),
      {
        "aria-pressed": "false",
        id: "draw-area",
      },
    );
    this.#sheet.hidden = true;
    box.append(this.#sheet, zoom);
    box.after(this.#hint);
    this.#listen();
    if (options.view) this.fitTo(options.view.south, options.view.west, options.view.north, options.view.east, 60);
    void this.#load();
  }

  /** The coastline, then what the operator has: without a campaign to look at, the map opens there. */
  async #load(): Promise<void> {
    const land = import("../land.js").then(({ RINGS }) => {
      this.rings = RINGS;
      this.soon();
    });
    [this.#source, this.outline] = await Promise.all([
      tiles(this.#options.tiles),
      outline(this.#options.outline),
      land.catch(() => undefined),
    ]);
    const known = this.outline?.bounds ?? this.#source?.extent;
    if (known && !this.#options.view && !this.moved && this.#area === null) {
      const [west, south, east, north] = known;
      this.fitTo(south, west, north, east, 60);
    }
    this.box.setAttribute("data-ready", "");
    await this.#ask();
  }

  /** The streets of what is looked at and a little around it; what is there already is not asked for again. */
  async #ask(): Promise<void> {
    const { width, height } = this.box.getBoundingClientRect();
    const tall = (height * this.metresPerPixel) / METRES_PER_DEGREE / 2;
    const wide = (width * this.metresPerPixel) / METRES_PER_DEGREE / Math.cos(this.lat * RADIAN) / 2;
    const seen = (by: number): Bounds => [
      this.lon - by * wide,
      this.lat - by * tall,
      this.lon + by * wide,
      this.lat + by * tall,
    ];
    const [west, south, east, north] = seen(1);
    if (this.streets === null) void this.#name([west, south, east, north]);
    if (this.#source === null || this.metresPerPixel > COARSEST) return;
    const [scale, had] = [this.metresPerPixel, this.#asked];
    if (had && scale > had.scale / 1.9 && scale < had.scale * 3) {
      const [left, bottom, right, top] = had.bounds;
      if (west >= left && south >= bottom && east <= right && north <= top) return;
    }
    const asked = { bounds: seen(1 + AROUND), scale };
    this.#asked = asked;
    const found = await streets(this.#source, asked.bounds);
    if (this.#asked !== asked) return; // looked elsewhere meanwhile
    this.streets = found;
    this.box.setAttribute("data-ready", found ? "streets" : "");
    super.soon();
  }

  /** The largest places of what is looked at, from this server; where it knows no names, none. */
  async #name([west, south, east, north]: Bounds): Promise<void> {
    const whole = east - west >= 360;
    const within = {
      south: Math.max(south, -90),
      west: whole ? -180 : near(west, 0),
      north: Math.min(north, 90),
      east: whole ? 180 : near(east, 0),
    };
    const seen = JSON.stringify(within);
    if (seen === this.#seen) return;
    this.#seen = seen;
    const found = await ask<PlacesAnswer>("/api/v1/places", { within }).catch(() => null);
    if (found === null || this.#seen !== seen) return;
    this.places = found.places.map(nameOf);
    this.box.setAttribute("data-named", String(this.places.length));
    super.soon();
  }

  protected override soon(): void {
    super.soon();
    clearTimeout(this.#waiting);
    this.#waiting = window.setTimeout(() => void this.#ask(), STILL_MS);
  }

  /** Show an area that was typed. */
  show(area: Area | null): void {
    this.#area = area;
    if (area) this.fitTo(area.south, area.west, area.north, area.east, 60);
    this.soon();
  }

  /** Outlines to draw: longitude and latitude of each corner. */
  districts(rings: readonly Ring[]): void {
    this.#districts = rings;
    this.soon();
  }

  /** Draw cells of this width, metres, inside the area. */
  cells(metres: number): void {
    this.#cell = metres;
    this.soon();
  }

  centreOn(lat: number, lon: number): void {
    this.fitTo(lat - 0.1, lon - 0.15, lat + 0.1, lon + 0.15);
    this.moved = true;
  }

  #drawing(on: boolean): void {
    this.drawButton.setAttribute("aria-pressed", String(on));
    this.#sheet.hidden = !on;
    this.#corner = null;
    this.#tell(on ? say("draw_how") : "");
    this.soon();
  }

  #tell(words: string): void {
    this.box.after(this.#hint);
    this.#hint.textContent = words;
  }

  #listen(): void {
    const at = (event: PointerEvent): [number, number] => {
      const { left, top } = this.box.getBoundingClientRect();
      const [lat, lon] = this.degrees(event.clientX - left, event.clientY - top);
      return [lat, near(lon, 0)];
    };
    let began: [number, number] | null = null;
    this.#sheet.addEventListener("pointerdown", (event) => {
      if (!event.isPrimary) return;
      began = [event.clientX, event.clientY];
      this.#corner = at(event);
      this.#sheet.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    this.#sheet.addEventListener("pointermove", (event) => {
      if (began === null || this.#corner === null) return;
      this.#area = between(this.#corner, at(event));
      this.soon();
    });
    this.#sheet.addEventListener("pointerup", (event) => {
      if (began === null || this.#corner === null) return;
      const [x, y] = [Math.abs(event.clientX - began[0]), Math.abs(event.clientY - began[1])];
      began = null;
      if (Math.min(x, y) < LEAST_PIXELS) this.#tell(say("draw_point"));
      else this.#finish(between(this.#corner, at(event)));
    });
    this.#sheet.addEventListener("pointercancel", () => (began = null));
  }

  #finish(area: Area): void {
    this.#area = area;
    this.#drawing(false);
    this.#tell(say("drawn"));
    this.#options.drawn(area);
  }

  /** Enter on the map: one corner, then the other. */
  protected override tapped(lat: number, lon: number): void {
    if (this.#corner === null) {
      this.#corner = [lat, lon];
      this.#tell(say("draw_corner"));
    } else {
      const area = between(this.#corner, [lat, lon]);
      if (area.north - area.south > 1e-6 && area.east - area.west > 1e-6) this.#finish(area);
    }
    this.soon();
  }

  protected override paintAreas(): void {}

  protected override paintOver(pen: Pen, colour: Colour): void {
    if (this.#area) {
      const { south, west, north, east } = this.#area;
      const [left, top] = this.pixel(north, west);
      const [right, bottom] = this.pixel(south, east);
      pen.globalAlpha = 0.25;
      pen.fillStyle = colour("accent");
      pen.fillRect(left, top, right - left, bottom - top);
      pen.globalAlpha = 1;
      pen.strokeStyle = colour("accent");
      const step = this.#cell / this.metresPerPixel;
      if (step >= 4) {
        pen.lineWidth = 0.5;
        pen.beginPath();
        for (let x = left + step; x < right; x += step) {
          pen.moveTo(x, top);
          pen.lineTo(x, bottom);
        }
        for (let y = top + step; y < bottom; y += step) {
          pen.moveTo(left, y);
          pen.lineTo(right, y);
        }
        pen.stroke();
      }
      pen.lineWidth = 3;
      pen.strokeRect(left, top, right - left, bottom - top);
    }
    pen.strokeStyle = colour("ink");
    pen.lineWidth = 1.5;
    pen.beginPath();
    for (const ring of this.#districts)
      for (const [at, [lon, lat]] of ring.entries()) {
        const place = this.pixel(lat, lon);
        if (at) pen.lineTo(...place);
        else pen.moveTo(...place);
      }
    pen.stroke();
    if (this.#corner) this.cross(pen, this.pixel(...(this.#corner as [number, number])), colour("focus"));
    if (document.activeElement === this.box) this.cross(pen, [this.width / 2, this.height / 2], colour("ink"), 8);
  }
}

function between(one: readonly [number, number], other: readonly [number, number]): Area {
  const most = (lat: number) => Math.min(Math.max(lat, -FARTHEST_NORTH), FARTHEST_NORTH);
  return {
    south: most(Math.min(one[0], other[0])),
    west: Math.min(one[1], other[1]),
    north: most(Math.max(one[0], other[0])),
    east: Math.max(one[1], other[1]),
  };
}
