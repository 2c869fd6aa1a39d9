/** Step 5: what was made, what is still given away, and the files; the private places file is saved before the release. */
import { type Choice, type PageTable, type Release, utf8, zipped } from "../../../clients/js/src/page/index.js";
import { button, byId, digits, element, metres } from "../dom.js";

export function save(name: string, bytes: Uint8Array | string, type: string): void {
  const link = element("a", { download: name });
  link.href = URL.createObjectURL(new Blob([bytes as BlobPart], { type }));
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Whether a stranger can tell that there is noise at all: `sfumato verify` holds all files against it as one track. */
function toldWords({ shown }: Release, { told }: Choice): string {
  const micros = shown.flatMap((track) => (track ? [...track.micros] : [])).sort((a, b) => a - b);
  const steps = micros.slice(1).map((time, i) => (time - micros[i]!) / 1e6);
  const median = steps.sort((a, b) => a - b)[steps.length >> 1] ?? 0;
  const moving = steps.filter((step) => step <= 60).reduce((sum, step) => sum + step, 0);
  const count = micros.length;
  if (told && count >= told.points && count <= told.most_points && moving >= told.span_s && median <= told.every_s)
    return "Who receives this can check that it holds such noise: an ordinary track without it would be refused (sfumato verify).";
  return (
    "It is blurred, but whether it is may not be told from the files: points are few for this blur, far apart, or very many. " +
    "Where it cannot be told, sfumato verify does not call them good, and others have only your word: run the command below. " +
    "A track of half an hour or more with a point every few seconds, or a stronger blur, can be told."
  );
}

function outcomeLines(made: Release, read: number, choice: Choice | null): string[] {
  const left = made.shown.reduce((sum, track) => sum + (track?.latDeg.length ?? 0), 0);
  const gone = made.shown.filter((track) => track === null).length;
  const lines = [`${left.toLocaleString("en")} of ${read.toLocaleString("en")} points stay.`];
  if (gone)
    lines.push(`${gone} of ${made.shown.length} tracks never leave the circles and disappear. Only you know that.`);
  lines.push(
    made.kept
      ? "Positions, times and heart rates stay; heights, names and everything else are left out. " +
          "Heart rates are as recorded, without noise: the promise does not cover what they tell."
      : "Positions and times stay; heights, heart rates, names and everything else are left out.",
  );
  if (choice) lines.push(choice.headline, toldWords(made, choice));
  for (const leak of made.leaks)
    lines.push(
      leak.bestM === null
        ? `${leak.name}: no shared track comes near its circle, so nothing points to it.`
        : `${leak.name}: the best of ${leak.attackers} attackers tried here (${leak.best}) misses it by ${metres(leak.bestM)}; ` +
            `a guess at the circle's middle misses by ${metres(leak.withoutRidesM)}, and ${leak.attackers} blind guesses come as near ` +
            `${digits(100 * leak.byLuck!, 2)} times in 100. ` +
            (leak.byLuck! < 0.05
              ? "That is nearer than luck explains: it is STILL FOUND. Leave out the tracks that lead there, or share fewer of them."
              : "Roads lead home: directions are measured, not promised."),
    );
  return lines;
}

export interface Saving {
  readonly table: PageTable;
  readonly made: Release;
  readonly choice: Choice | null;
  readonly read: number;
  /** The private file's text where it must be saved first; null where it is on the disk already. */
  readonly placesText: string | null;
  readonly placesSaved: () => void;
  readonly released: () => void;
}

export function showSaving({ table, made, choice, read, placesText, placesSaved, released }: Saving): void {
  const certificate = utf8(made.certificate);
  const said = byId("saved");
  const lines = outcomeLines(made, read, choice);
  byId("outcome").replaceChildren(...lines.map((line) => element("p", {}, line)));
  const releases: HTMLButtonElement[] = [];
  const offer = (label: string, act: () => void) => {
    const made = button(label, () => {
      act();
      said.textContent = `Saved. ${choice ? "Every further blurred release of yours adds as much again." : ""}`;
      released();
    });
    made.disabled = placesText !== null;
    made.classList.add("first");
    releases.push(made);
    return made;
  };
  const buttons: HTMLElement[] = [];
  if (placesText !== null)
    buttons.push(
      button(
        "Save the places file: private",
        () => {
          save("me.places", placesText, "application/octet-stream");
          for (const one of releases) one.disabled = false;
          said.textContent =
            "Keep the places file, never share it, and open it here next time. Now save what may be shared.";
          placesSaved();
        },
        { id: "save-places" },
      ),
    );
  if (made.single) {
    const file = made.files[0]!;
    buttons.push(offer(`Save ${file.name}`, () => save(file.name, file.bytes, "application/octet-stream")));
    buttons.push(offer("Save certificate.json", () => save("certificate.json", certificate, "application/json")));
  } else {
    const packed = made.files.map(({ name, bytes }) => ({ name: `shared/${name}`, bytes }));
    const all = zipped([{ name: "certificate.json", bytes: certificate }, ...packed]);
    buttons.push(offer("Save all as a ZIP", () => save("shared.zip", all, "application/zip")));
  }
  byId("saving").replaceChildren(...buttons);
  said.textContent =
    placesText === null
      ? ""
      : "First the places file: without it you could not hide the same place with the same circle again.";
  const notCovered: string[] = made.leaks.length ? [...table.not_covered] : [];
  if (choice)
    notCovered.push(...(JSON.parse(choice.noise) as { guarantee: { not_covered: string[] } }).guarantee.not_covered);
  byId("not-covered").replaceChildren(...notCovered.map((line) => element("li", {}, line.replaceAll("`", ""))));
  byId("version").textContent = table.version;
  byId("command").textContent =
    `sfumato verify certificate.json --release ${made.single ? made.files[0]!.name : "shared/"}`;
  byId("result").hidden = false;
}
