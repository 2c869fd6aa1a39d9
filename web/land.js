import { readFileSync } from "node:fs";

const WITHIN_DEG = 0.06;

/** The corners that a line needs so as to stay within six hundredths of a degree of the coast [Douglas1973]. */
function simpler(ring) {
  const kept = new Set([0, ring.length - 1]);
  const parts = [[0, ring.length - 1]];
  while (parts.length > 0) {
    const [first, last] = parts.pop();
    const [[ax, ay], [bx, by]] = [ring[first], ring[last]];
    const long = Math.hypot(bx - ax, by - ay);
    let [farthest, at] = [WITHIN_DEG, -1];
    for (let i = first + 1; i < last; i++) {
      const [x, y] = [ring[i][0] - ax, ring[i][1] - ay];
      const away = long > 0 ? Math.abs((bx - ax) * y - (by - ay) * x) / long : Math.hypot(x, y);
      if (away > farthest) [farthest, at] = [away, i];
    }
    if (at < 0) continue;
    kept.add(at);
    parts.push([first, at], [at, last]);
  }
  return ring.filter((_, i) => kept.has(i));
}

/** Printable letters but those that mean something in a string, a template or a page. */
const LETTERS = Array.from({ length: 92 }, (_, i) => String.fromCharCode(35 + i)).filter(
  (one) => !"\\`<".includes(one),
);
const HALF = Math.floor(LETTERS.length / 2);

/** A whole number as letters, the low digits first: a letter of the second half says that more follow. */
function letters(value) {
  let left = value >= 0 ? 2 * value : -2 * value - 1;
  let said = "";
  for (; left >= HALF; left = Math.floor(left / HALF)) said += LETTERS[HALF + (left % HALF)];
  return said + LETTERS[left];
}

/** Coastline rings as steps of hundredths of a degree: small enough for a page of 120 kB. */
export function land() {
  return {
    name: "land",
    resolveId: (id) => (id === "virtual:land" ? "\0land" : null),
    load(id) {
      if (id !== "\0land") return null;
      const { geometry } = JSON.parse(readFileSync(new URL("public/land.json", import.meta.url), "utf8"));
      const rings = geometry.coordinates.flat().map((whole) => {
        const ring = simpler(whole);
        let [x, y] = [0, 0];
        return ring.flatMap(([lon, lat]) => {
          const [a, b] = [Math.round(lon * 100), Math.round(lat * 100)];
          const step = [a - x, b - y];
          [x, y] = [a, b];
          return step;
        });
      });
      const packed = rings.map((ring) => ring.map(letters).join("")).join(" ");
      return `export const LETTERS = ${JSON.stringify(LETTERS.join(""))};\nexport default ${JSON.stringify(packed)};`;
    },
  };
}
