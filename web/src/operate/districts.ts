/** Districts of a file (what is no GeoJSON is read by this server): chosen here, simplified to what squares can tell, and what the plan says of them. */
import type { AreasAnswer, PlanView } from "../../../clients/js/src/api.js";
import { element } from "../dom.js";
import type { Area } from "./draw_map.js";
import { choice, labelled } from "./fields.js";
import { ask, Refused } from "./session.js";
import { count, say } from "./words.js";

export type Ring = [number, number][];
interface Feature {
  properties?: Record<string, unknown> | null;
  geometry?: { type: string; coordinates: unknown } | null | undefined;
}
const MOST_BYTES = 200_000;
const LARGEST_FILE = 8_000_000;

export interface DistrictFields {
  readonly node: HTMLElement;
  /** What of a request names them; nothing where no file is chosen. */
  asked(): { areas?: Record<string, unknown>; name_field?: string };
}

/** A file, the property that names its areas, and word to whoever draws the rectangle around them. */
export function districtFields(
  around: (area: Area, rings: readonly Ring[]) => void,
  changed: () => void,
): DistrictFields {
  const file = element("input", { type: "file", accept: ".geojson,.json,.zip,.gpkg,application/geo+json" });
  const names = element("select", { id: "f-name_field" });
  const field = labelled("name_field", names);
  const told = element("p", { class: "soft", role: "status" });
  let features: Feature[] = [];
  field.hidden = true;
  file.addEventListener("change", async () => {
    features = [];
    told.textContent = "";
    const chosen = file.files?.[0];
    if (chosen) {
      try {
        told.textContent = say("areas_reading");
        const found = await contentOf(chosen);
        features = found.type === "FeatureCollection" ? (found.features ?? []) : [found as Feature];
        const rings = features.flatMap(ringsOf);
        if (rings.length === 0) throw new Refused(0, say("areas_none"));
        features = thinned(features);
        const known = Object.keys(features[0]!.properties ?? {});
        const usual =
          known.find((one) => /^(nom|name|nombre|bezirk|quartier|label|libelle)/i.test(one)) ?? known[0] ?? "";
        names.replaceChildren(
          ...choice(
            known.map((one) => [one, one] as const),
            usual,
          ).childNodes,
        );
        names.value = usual;
        told.textContent = say("areas_read", { count: count(features.length) });
        const places = rings.flat();
        const [lon, lat] = [places.map(([x]) => x), places.map(([, y]) => y)];
        const least = (values: number[]) => values.reduce((a, b) => Math.min(a, b));
        const most = (values: number[]) => values.reduce((a, b) => Math.max(a, b));
        around({ south: least(lat), west: least(lon), north: most(lat), east: most(lon) }, features.flatMap(ringsOf));
      } catch (error) {
        features = [];
        told.textContent = say("areas_unread", { why: error instanceof Refused ? error.message : say("areas_none") });
      }
    }
    field.hidden = features.length === 0;
    changed();
  });
  names.addEventListener("change", changed);
  const asked = () =>
    features.length
      ? { areas: { type: "FeatureCollection", features }, ...(names.value ? { name_field: names.value } : {}) }
      : {};
  return { node: element("div", { id: "districts" }, labelled("areas", file), field, told), asked };
}

/** GeoJSON is read here; a shapefile or a GeoPackage by this server, which keeps nothing of it. */
async function contentOf(file: File): Promise<{ type?: string; features?: Feature[] }> {
  if (/\.(geo)?json$/i.test(file.name)) return JSON.parse(await file.text());
  if (file.size > LARGEST_FILE) throw new Refused(0, say("areas_large"));
  const whole = await new Promise<string>((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result));
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(file);
  });
  const { areas } = await ask<AreasAnswer>("/api/v1/areas", { file: whole.slice(whole.indexOf(",") + 1) });
  return areas as { type?: string; features?: Feature[] };
}

function ringsOf({ geometry }: Feature): Ring[] {
  if (geometry?.type === "Polygon") return geometry.coordinates as Ring[];
  return geometry?.type === "MultiPolygon" ? (geometry.coordinates as Ring[][]).flat() : [];
}

/** Fewer corners, until a request can carry them: a corner nearer to the one before than the step is left out. */
function thinned(features: Feature[]): Feature[] {
  for (let step = 0; ; step = step * 2 || 0.00005) {
    const thin = (ring: Ring): Ring => {
      const kept = [ring[0]!];
      for (const at of ring.slice(1, -1)) {
        const [x, y] = kept.at(-1)!;
        if (Math.max(Math.abs(at[0] - x), Math.abs(at[1] - y)) > step) kept.push(at);
      }
      const whole = kept.length >= 3 ? [...kept, ring[0]!] : ring;
      return whole.map(([x, y]) => [Number(x.toFixed(5)), Number(y.toFixed(5))]);
    };
    const found = features.map(({ properties, geometry }) => ({
      type: "Feature",
      properties: plain(properties ?? {}),
      geometry: geometry && {
        type: geometry.type,
        coordinates:
          geometry.type === "Polygon"
            ? (geometry.coordinates as Ring[]).map(thin)
            : geometry.type === "MultiPolygon"
              ? (geometry.coordinates as Ring[][]).map((rings) => rings.map(thin))
              : geometry.coordinates,
      },
    }));
    if (JSON.stringify(found).length < MOST_BYTES || step > 0.01) return found;
  }
}

/** What may name an area: short texts and numbers. */
const plain = (properties: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(properties).filter(
      ([, value]) => typeof value === "number" || (typeof value === "string" && value.length <= 100),
    ),
  );

/** Which districts the plan tells apart, hardest first. */
export function districtsTold({ pairs, districts }: PlanView): HTMLElement[] {
  if (districts.length === 0) return [];
  const together = districts.filter((names) => names.length > 1).map((names) => names.join(" + "));
  const words = together.length ? say("plan_together", { names: together.join("; ") }) : say("plan_each_apart");
  const listed = pairs.slice(0, 60).map((one) => element("li", { "data-told": String(one.told) }, one.words));
  return [
    element("p", { id: "plan-districts" }, words),
    element("details", {}, element("summary", {}, say("plan_pairs")), element("ul", {}, ...listed)),
  ];
}
