/**
 * A map drawn here: tracks, circles, coastline and a scale bar, on one canvas. No tiles and no library: a map of streets
 * would be asked for piece by piece, and the asking would tell where somebody lives.
 */
import type { Place, Track } from "../../../clients/js/src/page/index.js";
import { type Colour, MapCanvas, METRES_PER_DEGREE, near, type Pen, RADIAN } from "../canvas.js";
import { RINGS } from "../land.js";

export interface Scene {
  readonly before: readonly Track[];
  readonly after: readonly Track[];
  /** Blurred points are dots: a line through them would be a scribble. */
  readonly dots: boolean;
  readonly places: readonly Place[];
  readonly spot: readonly [number, number] | null;
  readonly show: { readonly before: boolean; readonly after: boolean };
}

export class TrackMap extends MapCanvas {
  readonly #act: (lat: number, lon: number) => void;
  #scene: Scene = { before: [], after: [], dots: false, places: [], spot: null, show: { before: true, after: true } };

  constructor(box: HTMLElement, act: (lat: number, lon: number) => void) {
    super(box, box.querySelector("canvas")!);
    this.#act = act;
    this.rings = RINGS;
  }

  show(scene: Scene): void {
    this.#scene = scene;
    this.soon();
  }

  protected override tapped(lat: number, lon: number): void {
    this.#act(lat, lon);
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
    this.fitTo(south, west, north, east);
  }

  protected override paint(pen: Pen, colour: Colour): void {
    const { before, after, dots, places, spot, show } = this.#scene;
    if (show.before) for (const track of before) this.#track(pen, track, colour("before"), [2, 3], false);
    if (show.after) for (const track of after) this.#track(pen, track, colour("after"), [], dots);
    for (const place of places) this.#place(pen, place, colour("zone"));
    if (spot) this.cross(pen, this.pixel(...spot), colour("ink"));
    this.cross(pen, [this.width / 2, this.height / 2], colour("quiet"), 4);
    this.box.dataset["drawn"] = String(before.length + after.length);
  }

  #track(pen: Pen, track: Track, ink: string, dash: number[], dots: boolean): void {
    pen.strokeStyle = pen.fillStyle = ink;
    pen.lineWidth = dots || dash.length ? 1.5 : 2.5;
    pen.setLineDash(dash);
    pen.beginPath();
    track.latDeg.forEach((lat, i) => {
      const [x, y] = this.pixel(lat, track.lonDeg[i]!);
      if (dots) pen.rect(x - 1.2, y - 1.2, 2.4, 2.4);
      else if (i && track.segment[i] === track.segment[i - 1]) pen.lineTo(x, y);
      else pen.moveTo(x, y);
    });
    if (dots) pen.fill();
    else pen.stroke();
    pen.setLineDash([]);
  }

  #place(pen: Pen, place: Place, ink: string): void {
    const [x, y] = this.pixel(place.zone.around.latDeg, place.zone.around.lonDeg);
    pen.beginPath();
    pen.arc(x, y, place.zone.radiusM / this.metresPerPixel, 0, 2 * Math.PI);
    pen.globalAlpha = 0.12;
    pen.fillStyle = ink;
    pen.fill();
    pen.globalAlpha = 1;
    pen.setLineDash([6, 4]);
    pen.strokeStyle = ink;
    pen.lineWidth = 1.5;
    pen.stroke();
    pen.setLineDash([]);
    const [px, py] = this.pixel(place.latDeg, place.lonDeg);
    pen.beginPath();
    pen.arc(px, py, 4, 0, 2 * Math.PI);
    pen.fill();
    pen.font = "600 13px system-ui, sans-serif";
    pen.fillText(place.name, px + 8, py + 4);
  }
}
