import { readFileSync } from "node:fs";

/** Coastline rings as steps of hundredths of a degree: a fifth of the GeoJSON's size, exact. */
export function land() {
  return {
    name: "land",
    resolveId: (id) => (id === "virtual:land" ? "\0land" : null),
    load(id) {
      if (id !== "\0land") return null;
      const { geometry } = JSON.parse(readFileSync(new URL("public/land.json", import.meta.url), "utf8"));
      const rings = geometry.coordinates.flat().map((ring) => {
        let [x, y] = [0, 0];
        return ring.flatMap(([lon, lat]) => {
          const [a, b] = [Math.round(lon * 100), Math.round(lat * 100)];
          const step = [a - x, b - y];
          [x, y] = [a, b];
          return step;
        });
      });
      return `export default JSON.parse(${JSON.stringify(JSON.stringify(rings))});`;
    },
  };
}
