/** The report: print it, or take its map along as a picture. Complete without this. */
import { byId } from "./dom.js";

const WIDE = 2400;
const printed = byId("print") as HTMLButtonElement;
const png = byId("png") as HTMLButtonElement;
printed.hidden = png.hidden = false;
printed.addEventListener("click", () => print());
png.addEventListener("click", async () => {
  const svg = await (await fetch(png.dataset["map"]!, { credentials: "omit" })).text();
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [WIDE, Math.round((WIDE * image.naturalHeight) / image.naturalWidth)];
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob!);
    link.download = `${byId("paper").dataset["name"]}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  });
});
