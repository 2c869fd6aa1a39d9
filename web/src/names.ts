/**
 * Names for a map: those in a campaign's area and around it, which everybody gets whole and searches on their own device,
 * and its districts, by the squares that they are made of.
 */
import type { District, PlacesAnswer, PlaceView } from "../../clients/js/src/api.js";
import type { Grid } from "../../clients/js/src/index.js";
import { centre } from "./map.js";
import type { Name } from "./tiles/streets.js";

const LARGE = 100_000;

export interface Known {
  /** Districts first, whose names are the organiser's; then towns and quarters, the largest first. */
  readonly names: readonly Name[];
  readonly districts: readonly District[];
}

export const nameOf = ({ name, lat_deg, lon_deg, people }: PlaceView): Name => ({
  lat: lat_deg,
  lon: lon_deg,
  text: name,
  rank: people >= LARGE ? 1 : 5,
});

/** The squares of a district. */
export function squares({ runs }: District): number[] {
  const found: number[] = [];
  for (let at = 0; at < runs.length; at += 2)
    for (let more = 0; more < runs[at + 1]!; more++) found.push(runs[at]! + more);
  return found;
}

/** A district's name, over the square of its own that is nearest to its middle. */
function named(grid: Grid, district: District): Name {
  const places = squares(district).map((cell) => centre(grid, cell));
  const mean = (axis: 0 | 1) => places.reduce((sum, place) => sum + place[axis], 0) / places.length;
  const [lat, lon] = [mean(0), mean(1)];
  const off = ([a, b]: readonly [number, number]) => Math.hypot(a - lat, (b - lon) * Math.cos((lat * Math.PI) / 180));
  const nearest = places.reduce((one, other) => (off(other) < off(one) ? other : one));
  return { lat: nearest[0], lon: nearest[1], text: district.name, rank: 3 };
}

/** What this server knows; nothing where it knows no names. */
export async function knownNames(campaign: string, grid: Grid): Promise<Known> {
  try {
    const address = `/api/v1/campaigns/${campaign}/places`;
    const reply = await fetch(address, { credentials: "omit", referrerPolicy: "no-referrer" });
    if (!reply.ok) return { names: [], districts: [] };
    const { places, districts } = (await reply.json()) as PlacesAnswer;
    return { names: [...districts.map((one) => named(grid, one)), ...places.map(nameOf)], districts };
  } catch {
    return { names: [], districts: [] };
  }
}

const folded = (text: string) =>
  text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[\s-]+/g, " ")
    .trim();

/** The name that was meant: the same, one that begins so, one with such a word; letters with or without accents. */
export function meant(names: readonly Name[], typed: string): Name | undefined {
  const wanted = folded(typed);
  if (wanted === "") return undefined;
  const among = names.map((name) => [folded(name.text), name] as const);
  const find = (fits: (text: string) => boolean) => among.find(([text]) => fits(text))?.[1];
  return (
    find((text) => text === wanted) ??
    find((text) => text.startsWith(wanted)) ??
    find((text) => text.includes(` ${wanted}`))
  );
}
