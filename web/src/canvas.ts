/**
 * A canvas that is looked at like a map: moved by hand, by wheel and by keyboard, with the coastline and a scale bar.
 * What is drawn on it, and what a tap means, is for those that extend it. It asks nobody for anything.
 */
import { metres } from "./dom.js";
import type { Ring } from "./land.js";

export const METRES_PER_DEGREE = 111_320;
export const RADIAN = Math.PI / 180;
export const near = (lon: number, to: number) => lon - 360 * Math.round((lon - to) / 360);
export type Colour = (name: string) => string;
export type Pen = CanvasRenderingContext2D;

export abstract class MapCanvas {
  protected readonly box: HTMLElement;
  protected lat = 30;
  protected lon = 10;
  protected metresPerPixel = 60_000;
  protected width = 1;
  protected height = 1;
  protected rings: readonly Ring[] = [];
  readonly #canvas: HTMLCanvasElement;
  #asked = 0;

  constructor(box: HTMLElement, canvas: HTMLCanvasElement) {
    this.box = box;
    this.#canvas = canvas;
    new ResizeObserver(() => this.resized()).observe(box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.soon());
    this.#listen();
  }

  /** What lies on the land. */
  protected abstract paint(pen: Pen, colour: Colour): void;
  /** Somebody tapped here, or pressed Enter with this place in the middle. */
  protected abstract tapped(lat: number, lon: number): void;
  protected pointed(_lat: number, _lon: number): void {}
  protected resized(): void {
    this.soon();
  }
  /** Whether the reader has moved the map: then it is left where it is. */
  protected moved = false;

  get middle(): [number, number] {
    return [this.lat, near(this.lon, 0)];
  }

  zoom(by: number): void {
    this.metresPerPixel = Math.min(Math.max(this.metresPerPixel * by, 0.2), 100_000);
    this.soon();
  }

  /** Show this rectangle of degrees. */
  protected fitTo(south: number, west: number, north: number, east: number, margin = 60): void {
    [this.lat, this.lon] = [(south + north) / 2, (west + east) / 2];
    const { width, height } = this.box.getBoundingClientRect();
    const tall = ((north - south) * METRES_PER_DEGREE) / Math.max(height - margin, 50);
    const wide = ((east - west) * METRES_PER_DEGREE * Math.cos(this.lat * RADIAN)) / Math.max(width - margin, 50);
    this.metresPerPixel = Math.max(tall, wide, 0.5);
    this.soon();
  }

  /** Once a frame, however much changes. */
  protected soon(): void {
    this.#asked ||= requestAnimationFrame(() => {
      this.#asked = 0;
      this.#draw();
    });
  }

  protected pixel(lat: number, lon: number): [number, number] {
    const scale = METRES_PER_DEGREE / this.metresPerPixel;
    const x = near(lon, this.lon) - this.lon;
    return [this.width / 2 + x * scale * Math.cos(this.lat * RADIAN), this.height / 2 - (lat - this.lat) * scale];
  }

  protected degrees(x: number, y: number): [number, number] {
    const { width, height } = this.box.getBoundingClientRect();
    const scale = METRES_PER_DEGREE / this.metresPerPixel;
    const lon = this.lon + (x - width / 2) / (scale * Math.cos(this.lat * RADIAN));
    return [Math.min(Math.max(this.lat - (y - height / 2) / scale, -89), 89), lon];
  }

  #at(event: PointerEvent): [number, number] {
    const { left, top } = this.box.getBoundingClientRect();
    const [lat, lon] = this.degrees(event.clientX - left, event.clientY - top);
    return [lat, near(lon, 0)];
  }

  #listen(): void {
    const held = new Map<number, [number, number]>();
    let moved = 0;
    this.#canvas.addEventListener("pointerdown", (event) => {
      held.set(event.pointerId, [event.clientX, event.clientY]);
      moved = held.size > 1 ? 99 : 0;
      this.#canvas.setPointerCapture(event.pointerId);
    });
    this.#canvas.addEventListener("pointermove", (event) => {
      const before = held.get(event.pointerId);
      if (before === undefined) return this.pointed(...this.#at(event));
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
      if (event.type === "pointerup" && moved <= 4) this.tapped(...this.#at(event));
    };
    this.#canvas.addEventListener("pointerup", up);
    this.#canvas.addEventListener("pointercancel", up);
    this.box.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && document.activeElement !== this.box) return; // scrolling past is not zooming
        event.preventDefault();
        this.moved = true;
        this.zoom(2 ** (Math.sign(event.deltaY) / 2));
      },
      { passive: false },
    );
    this.box.addEventListener("keydown", (event) => {
      if (event.target !== this.box) return;
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
      else if (event.key === "Enter") this.tapped(...this.middle);
      else return;
      event.preventDefault();
    });
  }

  #pan(x: number, y: number): void {
    this.moved = true;
    const { width, height } = this.box.getBoundingClientRect();
    [this.lat, this.lon] = this.degrees(width / 2 + x, height / 2 + y);
    this.soon();
  }

  #draw(): void {
    const { width, height } = this.box.getBoundingClientRect();
    [this.width, this.height] = [width, height];
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
    this.#land(pen, colour);
    this.paint(pen, colour);
    this.#scale(pen, colour);
  }

  #land(pen: Pen, colour: Colour): void {
    const { width, height } = this;
    const [north, west] = this.degrees(0, 0);
    const [south, east] = this.degrees(width, height);
    const scale = METRES_PER_DEGREE / this.metresPerPixel;
    const across = scale * Math.cos(this.lat * RADIAN);
    pen.beginPath();
    for (const { lon, lat, box } of this.rings)
      for (const turn of [-360, 0, 360]) {
        if (box[2] + turn < west || box[0] + turn > east || box[3] < south || box[1] > north) continue;
        for (let i = 0; i < lon.length; i++) {
          const x = width / 2 + (lon[i]! + turn - this.lon) * across;
          const y = height / 2 - (lat[i]! - this.lat) * scale;
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

  protected cross(pen: Pen, [x, y]: [number, number], ink: string, reach = 10): void {
    pen.beginPath();
    pen.moveTo(x - reach, y);
    pen.lineTo(x + reach, y);
    pen.moveTo(x, y - reach);
    pen.lineTo(x, y + reach);
    pen.strokeStyle = ink;
    pen.lineWidth = reach > 5 ? 2.5 : 1;
    pen.stroke();
  }

  #scale(pen: Pen, colour: Colour): void {
    const { height } = this;
    const most = 110 * this.metresPerPixel;
    const power = 10 ** Math.floor(Math.log10(most));
    const length = ([5, 2, 1].find((step) => step * power <= most) ?? 1) * power;
    const wide = length / this.metresPerPixel;
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
