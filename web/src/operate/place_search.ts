/** Where to look on the map: a name, which this server looks up and no other, or latitude and longitude. */
import type { PlacesAnswer, PlaceView } from "../../../clients/js/src/api.js";
import { button, element } from "../dom.js";
import type { DrawMap } from "./draw_map.js";
import { text } from "./fields.js";
import { ask, Refused } from "./session.js";
import { count, language, say } from "./words.js";

const countries = new Intl.DisplayNames([language], { type: "region", fallback: "code" });

/** Nantes, France (325,070): which of the places of that name. */
function which({ name, country, people }: PlaceView): string {
  const [land, state] = country.split("-");
  const where = [name, state, countries.of(land!)].filter(Boolean).join(", ");
  return people ? say("place_people", { where, people: count(people) }) : where;
}

export function placeSearch(map: DrawMap): HTMLElement[] {
  const place = text({ id: "go-to", placeholder: say("go_to_example"), size: "16" });
  const told = element("div", { id: "places-found", role: "status" });
  const show = ({ lat_deg, lon_deg }: PlaceView) => map.centreOn(lat_deg, lon_deg);
  const go = async () => {
    told.replaceChildren();
    const [lat, lon, more] = place.value.split(/[\s,;]+/).map(Number);
    if (Number.isFinite(lat) && Number.isFinite(lon) && more === undefined) {
      if (Math.abs(lat!) <= 85 && Math.abs(lon!) <= 180) map.centreOn(lat!, lon!);
      return;
    }
    if (place.value.trim() === "") return;
    try {
      const { places } = await ask<PlacesAnswer>("/api/v1/places", { name: place.value.trim() });
      const [first, ...others] = places;
      if (first === undefined) {
        told.append(element("p", {}, say("place_unknown")));
        return;
      }
      show(first);
      told.append(element("p", { class: "soft" }, say("place_shown", { place: which(first) })));
      if (others.length)
        told.append(
          element(
            "p",
            { class: "buttons" },
            say("place_others"),
            ...others.map((one) => button(which(one), () => show(one), { class: "quiet" })),
          ),
        );
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      told.append(element("p", { class: "bad" }, error.message));
    }
  };
  place.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    void go();
  });
  const field = element(
    "span",
    { class: "go-to" },
    element("label", { for: "go-to" }, say("go_to")),
    place,
    button(say("go"), () => void go(), { class: "quiet" }),
  );
  return [field, told];
}
