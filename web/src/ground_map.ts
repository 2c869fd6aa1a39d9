/**
 * A map with the operator's own ground under it: streets, water, green and names from their tiles, and an outline, where
 * there are some; else the coastline alone. What is drawn between the ground and its roads is for those that extend it.
 */
import { type Colour, MapCanvas, METRES_PER_DEGREE, type Pen, RADIAN } from "./canvas.js";
import type { Bounds } from "./tiles/pmtiles.js";
import type { Name, Outline, Streets } from "./tiles/streets.js";

type Box = [left: number, top: number, right: number, bottom: number];

export abstract class GroundMap extends MapCanvas {
  protected streets: Streets | null = null;
  protected outline: Outline | null = null;
  /** Names of the server's gazetteer, for where tiles have none. */
  protected places: readonly Name[] = [];

  /** What is shown over the ground and under its roads. */
  protected abstract paintAreas(pen: Pen, colour: Colour): void;
  /** What is shown over everything but names; where words were written is added to `taken`. */
  protected abstract paintOver(pen: Pen, colour: Colour, taken: Box[]): void;

  protected override paint(pen: Pen, colour: Colour): void {
    this.#paintGround(pen, colour);
    this.paintAreas(pen, colour);
    this.#paintRoads(pen, colour);
    const taken: Box[] = [];
    this.paintOver(pen, colour, taken);
    this.#paintNames(pen, colour, taken);
  }

  /** A path of degrees as it lies on the screen now. */
  #onScreen(path: Path2D, origin: readonly [number, number]): Path2D {
    const [x, y] = this.pixel(...(origin as [number, number]));
    const scale = METRES_PER_DEGREE / this.metresPerPixel;
    const placed = new Path2D();
    placed.addPath(path, new DOMMatrix([scale * Math.cos(this.lat * RADIAN), 0, 0, -scale, x, y]));
    return placed;
  }

  #paintGround(pen: Pen, colour: Colour): void {
    const found = this.streets;
    if (found === null) return;
    const rectangle = ([west, south, east, north]: Bounds): [number, number, number, number] => {
      const [[left, top], [right, bottom]] = [this.pixel(north, west), this.pixel(south, east)];
      return [left, top, right - left, bottom - top];
    };
    for (const { picture, bounds } of found.pictures) pen.drawImage(picture, ...rectangle(bounds));
    pen.fillStyle = colour("land");
    for (const bounds of found.covered) {
      const [left, top, width, height] = rectangle(bounds);
      pen.fillRect(left, top, width + 1, height + 1);
    }
    pen.fillStyle = colour("green");
    pen.fill(this.#onScreen(found.green, found.origin)); // holes run the other way round
    pen.fillStyle = colour("sea");
    pen.fill(this.#onScreen(found.water, found.origin));
  }

  #paintRoads(pen: Pen, colour: Colour): void {
    const line = (path: Path2D, origin: readonly [number, number], width: number, ink: string, alpha: number) => {
      pen.globalAlpha = alpha;
      pen.lineWidth = width;
      pen.strokeStyle = ink;
      pen.stroke(this.#onScreen(path, origin));
      pen.globalAlpha = 1;
    };
    const { streets: found, metresPerPixel: scale } = this;
    if (found) {
      const { origin, rivers, roads } = found;
      line(rivers, origin, 1.5, colour("water"), 0.7);
      if (scale < 5) line(roads[3], origin, 0.5, colour("road"), 0.3);
      if (scale < 14) line(roads[2], origin, scale < 7 ? 1 : 0.5, colour("road"), 0.35);
      line(roads[1], origin, scale < 14 ? 1.3 : 0.6, colour("road"), 0.4);
      line(roads[0], origin, scale < 14 ? 2 : 1.2, colour("road"), 0.5);
    }
    if (this.outline) line(this.outline.path, this.outline.origin, 2, colour("ink"), 0.7);
  }

  /** Words with a halo of paper, where there is room and nothing was written before. */
  protected write(
    pen: Pen,
    colour: Colour,
    text: string,
    x: number,
    y: number,
    taken: Box[],
    ink: "ink" | "soft" = "ink",
  ): boolean {
    const wide = pen.measureText(text).width / 2 + 3;
    const here: Box = [x - wide, y - 9, x + wide, y + 9];
    const free = taken.every(([a, b, c, d]) => here[2] < a || here[0] > c || here[3] < b || here[1] > d);
    if (!free || here[0] < 0 || here[2] > this.width || here[1] < 0 || here[3] > this.height - 36) return false;
    taken.push(here);
    pen.lineWidth = 3.5;
    pen.lineJoin = "round";
    pen.strokeStyle = colour("card");
    pen.strokeText(text, x, y);
    pen.fillStyle = colour(ink);
    pen.fillText(text, x, y);
    return true;
  }

  #paintNames(pen: Pen, colour: Colour, taken: Box[]): void {
    const names = this.streets?.names.length ? this.streets.names : this.places;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (const { lat, lon, text, rank } of names.slice(0, 80)) {
      pen.font = `${rank < 2 ? 600 : 400} ${rank < 2 ? 13 : 11}px system-ui, sans-serif`;
      const [x, y] = this.pixel(lat, lon);
      // Where something stands already, below it or above.
      [0, 22, -22].some((aside) => this.write(pen, colour, text, x, y + aside, taken));
    }
    pen.textAlign = "start";
    pen.textBaseline = "alphabetic";
  }
}
