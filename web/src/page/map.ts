/**
 * A map drawn here: tracks, circles, coastline and a scale bar, on one canvas. No tiles and no library: a map of streets
 * would be asked for piece by piece, and the asking would tell where somebody lives.
 */
import type { Place, Track } from "../../../clients/js/src/page/index.js";
import { metres } from "../dom.js";
import { RINGS } from "./land.js";

const METRES_PER_DEGREE = 111_320;
const RADIAN = Math.PI / 180;

export interface Scene {
  readonly before: readonly Track[];
  readonly after: readonly Track[];
  /** Blurred points are dots: a line through them would be a scribble. */
  readonly dots: boolean;
  readonly places: readonly Place[];
  readonly spot: readonly [number, number] | null;
  readonly show: { readonly before: boolean; readonly after: boolean };
}

const near = (lon: number, to: number) => lon - 360 * Math.round((lon - to) / 360);

export class TrackMap {
  readonly #box: HTMLElement;
  readonly #canvas: HTMLCanvasElement;
  readonly #act: (lat: number, lon: number) => void;
  #scene: Scene = { before: [], after: [], dots: false, places: [], spot: null, show: { before: true, after: true } };
  #lat = 30;
  #lon = 10;
  #metresPerPixel = 60_000;
  #width = 1;
  #height = 1;
  #asked = 0;

  constructor(box: HTMLElement, act: (lat: number, lon: number) => void) {
    this.#box = box;
    this.#canvas = box.querySelector("canvas")!;
    this.#act = act;
    new ResizeObserver(() => this.#soon()).observe(box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#soon());
    this.#listen();
  }

  get middle(): [number, number] {
    return [this.#lat, near(this.#lon, 0)];
  }

  show(scene: Scene): void {
    this.#scene = scene;
    this.#soon();
  }

  zoom(by: number): void {
    this.#metresPerPixel = Math.min(Math.max(this.#metresPerPixel * by, 0.2), 100_000);
    this.#soon();
  }

  /** Fit everything that is drawn. */
  fit(): void {
    const { before, after, places } = this.#scene;
    const first = before[0] ?? after[0];
    if (!first) return;
    const origin = first.lonDeg[0]!;
    let [south, north, west, east] = [90, -90, 999, -999];
    const take = (lat: number, lon: number, reach = 0) => {
      const x = near(lon, origin);
      const wide = reach / Math.max(Math.cos(lat * RADIAN), 0.02);
      [south, north] = [Math.min(south, lat - reach), Math.max(north, lat + reach)];
      [west, east] = [Math.min(west, x - wide), Math.max(east, x + wide)];
    };
    for (const track of [...before, ...after]) track.latDeg.forEach((lat, i) => void take(lat, track.lonDeg[i]!));
    for (const { zone } of places)
      take(zone.around.latDeg, zone.around.lonDeg, (zone.radiusM + 50) / METRES_PER_DEGREE);
    [this.#lat, this.#lon] = [(south + north) / 2, (west + east) / 2];
    const { width, height } = this.#box.getBoundingClientRect();
    const tall = ((north - south) * METRES_PER_DEGREE) / Math.max(height - 60, 50);
    const wide = ((east - west) * METRES_PER_DEGREE * Math.cos(this.#lat * RADIAN)) / Math.max(width - 60, 50);
    this.#metresPerPixel = Math.max(tall, wide, 0.5);
    this.#soon();
  }

  /** Once a frame, however much changes. */
  #soon(): void {
    this.#asked ||= requestAnimationFrame(() => {
      this.#asked = 0;
      this.#draw();
    });
  }

  #pixel(lat: number, lon: number): [number, number] {
    const scale = METRES_PER_DEGREE / this.#metresPerPixel;
    const x = near(lon, this.#lon) - this.#lon;
    return [this.#width / 2 + x * scale * Math.cos(this.#lat * RADIAN), this.#height / 2 - (lat - this.#lat) * scale];
  }

  #degrees(x: number, y: number): [number, number] {
    const { width, height } = this.#box.getBoundingClientRect();
    const scale = METRES_PER_DEGREE / this.#metresPerPixel;
    const lon = this.#lon + (x - width / 2) / (scale * Math.cos(this.#lat * RADIAN));
    return [Math.min(Math.max(this.#lat - (y - height / 2) / scale, -89), 89), lon];
  }

  #listen(): void {
    const held = new Map<number, [number, number]>();
    let moved = 0;
    this.#box.addEventListener("pointerdown", (event) => {
      held.set(event.pointerId, [event.clientX, event.clientY]);
      moved = held.size > 1 ? 99 : 0;
      this.#box.setPointerCapture(event.pointerId);
    });
    this.#box.addEventListener("pointermove", (event) => {
      const before = held.get(event.pointerId);
      if (before === undefined) return;
      const others = [...held].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      const [x, y] = [event.clientX, event.clientY];
      moved += Math.hypot(x - before[0], y - before[1]);
      held.set(event.pointerId, [x, y]);
      const other = others[0];
      if (other) {
        const spread = (at: [number, number]) => Math.max(Math.hypot(at[0] - other[0], at[1] - other[1]), 10);
        this.zoom(spread(before) / spread([x, y]));
        this.#pan((before[0] - x) / 2, (before[1] - y) / 2);
      } else if (moved > 4) this.#pan(before[0] - x, before[1] - y);
    });
    const up = (event: PointerEvent) => {
      held.delete(event.pointerId);
      if (event.type !== "pointerup" || moved > 4) return;
      const { left, top } = this.#box.getBoundingClientRect();
      const [lat, lon] = this.#degrees(event.clientX - left, event.clientY - top);
      this.#act(lat, near(lon, 0));
    };
    this.#box.addEventListener("pointerup", up);
    this.#box.addEventListener("pointercancel", up);
    this.#box.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && document.activeElement !== this.#box) return; // scrolling past is not zooming
        event.preventDefault();
        this.zoom(2 ** (Math.sign(event.deltaY) / 2));
      },
      { passive: false },
    );
    this.#box.addEventListener("keydown", (event) => {
      const ways: Record<string, [number, number]> = {
        ArrowLeft: [-40, 0],
        ArrowRight: [40, 0],
        ArrowUp: [0, -40],
        ArrowDown: [0, 40],
      };
      const way = ways[event.key];
      if (way) this.#pan(...way);
      else if (event.key === "+" || event.key === "=") this.zoom(0.7);
      else if (event.key === "-") this.zoom(1 / 0.7);
      else if (event.key === "Enter") this.#act(...this.middle);
      else return;
      event.preventDefault();
    });
  }

  #pan(x: number, y: number): void {
    const { width, height } = this.#box.getBoundingClientRect();
    [this.#lat, this.#lon] = this.#degrees(width / 2 + x, height / 2 + y);
    this.#soon();
  }

  #draw(): void {
    const { width, height } = this.#box.getBoundingClientRect();
    [this.#width, this.#height] = [width, height];
    const ratio = globalThis.devicePixelRatio || 1;
    this.#canvas.width = Math.round(width * ratio);
    this.#canvas.height = Math.round(height * ratio);
    const pen = this.#canvas.getContext("2d", { willReadFrequently: true }); // drawn by the processor: no start-up of a GPU
    if (pen === null) return;
    const colours = getComputedStyle(document.documentElement);
    const colour = (name: string) => colours.getPropertyValue(`--${name}`).trim();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = colour("sea");
    pen.fillRect(0, 0, width, height);
    this.#land(pen, colour, width, height);
    const { before, after, dots, places, spot, show } = this.#scene;
    if (show.before) for (const track of before) this.#track(pen, track, colour("before"), [2, 3], false);
    if (show.after) for (const track of after) this.#track(pen, track, colour("after"), [], dots);
    for (const place of places) this.#place(pen, place, colour("zone"));
    if (spot) this.#cross(pen, this.#pixel(...spot), colour("ink"));
    this.#cross(pen, [width / 2, height / 2], colour("quiet"), 4);
    this.#scale(pen, colour, height);
    this.#box.dataset["drawn"] = String(before.length + after.length);
  }

  #land(pen: CanvasRenderingContext2D, colour: (name: string) => string, width: number, height: number): void {
    const [north, west] = this.#degrees(0, 0);
    const [south, east] = this.#degrees(width, height);
    const scale = METRES_PER_DEGREE / this.#metresPerPixel;
    const across = scale * Math.cos(this.#lat * RADIAN);
    pen.beginPath();
    for (const { lon, lat, box } of RINGS)
      for (const turn of [-360, 0, 360]) {
        if (box[2] + turn < west || box[0] + turn > east || box[3] < south || box[1] > north) continue;
        for (let i = 0; i < lon.length; i++) {
          const x = width / 2 + (lon[i]! + turn - this.#lon) * across;
          const y = height / 2 - (lat[i]! - this.#lat) * scale;
          if (i) pen.lineTo(x, y);
          else pen.moveTo(x, y);
        }
        pen.closePath();
      }
    pen.fillStyle = colour("land");
    pen.strokeStyle = colour("coast");
    pen.lineWidth = 1;
    pen.fill("evenodd");
    pen.stroke();
  }

  #track(pen: CanvasRenderingContext2D, track: Track, ink: string, dash: number[], dots: boolean): void {
    pen.strokeStyle = pen.fillStyle = ink;
    pen.lineWidth = dots || dash.length ? 1.5 : 2.5;
    pen.setLineDash(dash);
    pen.beginPath();
    track.latDeg.forEach((lat, i) => {
      const [x, y] = this.#pixel(lat, track.lonDeg[i]!);
      if (dots) pen.rect(x - 1.2, y - 1.2, 2.4, 2.4);
      else if (i && track.segment[i] === track.segment[i - 1]) pen.lineTo(x, y);
      else pen.moveTo(x, y);
    });
    if (dots) pen.fill();
    else pen.stroke();
    pen.setLineDash([]);
  }

  #place(pen: CanvasRenderingContext2D, place: Place, ink: string): void {
    const [x, y] = this.#pixel(place.zone.around.latDeg, place.zone.around.lonDeg);
    pen.beginPath();
    pen.arc(x, y, place.zone.radiusM / this.#metresPerPixel, 0, 2 * Math.PI);
    pen.globalAlpha = 0.12;
    pen.fillStyle = ink;
    pen.fill();
    pen.globalAlpha = 1;
    pen.setLineDash([6, 4]);
    pen.strokeStyle = ink;
    pen.lineWidth = 1.5;
    pen.stroke();
    pen.setLineDash([]);
    const [px, py] = this.#pixel(place.latDeg, place.lonDeg);
    pen.beginPath();
    pen.arc(px, py, 4, 0, 2 * Math.PI);
    pen.fill();
    pen.font = "600 13px system-ui, sans-serif";
    pen.fillText(place.name, px + 8, py + 4);
  }

  #cross(pen: CanvasRenderingContext2D, [x, y]: [number, number], ink: string, reach = 10): void {
    pen.beginPath();
    pen.moveTo(x - reach, y);
    pen.lineTo(x + reach, y);
    pen.moveTo(x, y - reach);
    pen.lineTo(x, y + reach);
    pen.strokeStyle = ink;
    pen.lineWidth = reach > 5 ? 2.5 : 1;
    pen.stroke();
  }

  #scale(pen: CanvasRenderingContext2D, colour: (name: string) => string, height: number): void {
    const most = 110 * this.#metresPerPixel;
    const power = 10 ** Math.floor(Math.log10(most));
    const length = ([5, 2, 1].find((step) => step * power <= most) ?? 1) * power;
    const wide = length / this.#metresPerPixel;
    pen.fillStyle = colour("card");
    pen.fillRect(8, height - 34, wide + 16, 26);
    pen.fillStyle = pen.strokeStyle = colour("ink");
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(16, height - 18);
    pen.lineTo(16, height - 13);
    pen.lineTo(16 + wide, height - 13);
    pen.lineTo(16 + wide, height - 18);
    pen.stroke();
    pen.font = "12px system-ui, sans-serif";
    pen.fillText(metres(length), 16, height - 21);
  }
}
