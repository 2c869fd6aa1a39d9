"use strict";
// A map that is moved and zoomed by hand, wheel, keys and buttons; labels give way to each other; a click names a place.
(() => {
  const svg = document.querySelector("svg.map[data-mpp]");
  if (!svg) return;
  const [lat0, lon0, east0, north0, mpp] = ["lat", "lon", "east", "north", "mpp"].map((name) => Number(svg.dataset[name]));
  const [, , wide, high] = svg.getAttribute("viewBox").split(" ").map(Number);
  const around = (svg.dataset.all || "").split(" ").map(Number);
  const degree = 111195;
  const dots = [...svg.querySelectorAll("circle.dot")];
  const words = [...svg.querySelectorAll("text.mark-words")];
  const scale = svg.querySelector(".scale");
  const picked = document.getElementById("picked");
  const chosen = [];
  let box = [0, 0, wide, high];
  const unit = () => box[2] / svg.getBoundingClientRect().width; // of the drawing, in a pixel of the screen
  const at = (node, name) => Number(node.getAttribute(name));

  const place = (taken, text, size) => {
    const long = text.getComputedTextLength();
    for (const [dx, dy] of [[0.5, -0.4], [0.5, 1.1], [-0.5, -0.4], [-0.5, 1.1]]) {
      const x = Number(text.dataset.x) + dx * size - (dx < 0 ? long : 0);
      const y = Number(text.dataset.y) + dy * size;
      const rect = [x, y - size, x + long, y + 0.3 * size];
      if (rect[1] < box[1] || rect[2] > box[0] + box[2]) continue;
      if (taken.some((one) => rect[0] < one[2] && one[0] < rect[2] && rect[1] < one[3] && one[1] < rect[3])) continue;
      taken.push(rect);
      text.setAttribute("x", x);
      text.setAttribute("y", y);
      return true;
    }
    return false;
  };
  const show = () => {
    if (!svg.getBoundingClientRect().width) return; // hidden, or not laid out yet
    svg.setAttribute("viewBox", box.join(" "));
    const one = unit();
    for (const dot of dots) dot.setAttribute("r", (dot.classList.contains("gate") ? 2.5 : 5) * one);
    const taken = [];
    for (const text of words) {
      text.style.fontSize = 13 * one + "px";
      text.style.display = "";
      if (!place(taken, text, 13 * one)) text.style.display = "none";
    }
    const most = 140 * one * mpp;
    const power = 10 ** Math.floor(Math.log10(most));
    const metres = [5, 2, 1].find((step) => step * power <= most) * power;
    const [x, y] = [box[0] + 16 * one, box[1] + box[3] - 14 * one];
    scale.querySelector("path").setAttribute("d", `M${x} ${y - 5 * one}v${5 * one}h${metres / mpp}v${-5 * one}`);
    const said = scale.querySelector("text");
    said.textContent = metres < 1000 ? metres + " m" : metres / 1000 + " km";
    said.setAttribute("x", x + metres / mpp + 6 * one);
    said.setAttribute("y", y);
    said.style.fontSize = 13 * one + "px";
  };
  const zoom = (by, x = box[0] + box[2] / 2, y = box[1] + box[3] / 2) => {
    by = Math.min(Math.max(by, 0.5 / (box[2] * mpp / 100)), 4e7 / (box[2] * mpp));
    box = [x - (x - box[0]) * by, y - (y - box[1]) * by, box[2] * by, box[3] * by];
    show();
  };
  const move = (dx, dy) => {
    box = [box[0] + dx, box[1] + dy, box[2], box[3]];
    show();
  };
  const spot = (event) => {
    const frame = svg.getBoundingClientRect();
    return [box[0] + (event.clientX - frame.left) * unit(), box[1] + (event.clientY - frame.top) * unit()];
  };

  const tell = () => {
    svg.querySelectorAll(".picked").forEach((mark) => mark.remove());
    for (const { x, y } of chosen) {
      const mark = document.createElementNS(svg.namespaceURI, "path");
      mark.setAttribute("class", "picked");
      const reach = 9 * unit();
      mark.setAttribute("d", `M${x - reach} ${y}h${2 * reach}M${x} ${y - reach}v${2 * reach}`);
      svg.append(mark);
    }
    const named = chosen.map(({ name, lat, lon }) => `${name} ${lat.toFixed(5)},${lon.toFixed(5)}`);
    picked.textContent = chosen.length
      ? `sfumato places add ${named.join(" ")} --places me.places`
      : "Click a place on the map, or anywhere else, to write the command that names it; click it again to leave it out.";
  };
  const pick = (x, y) => {
    const near = (one) => Math.hypot(one.x - x, one.y - y) < 14 * unit();
    const again = chosen.findIndex(near);
    if (again >= 0) chosen.splice(again, 1);
    else {
      const dot = dots.find((one) => one.dataset.lat && near({ x: at(one, "cx"), y: at(one, "cy") }));
      const lat = dot ? Number(dot.dataset.lat) : lat0 + ((high / 2 - y) * mpp + north0) / degree;
      const east = (x - wide / 2) * mpp + east0;
      const lon = dot ? Number(dot.dataset.lon) : lon0 + east / degree / Math.cos((lat0 * Math.PI) / 180);
      let name = dot ? dot.dataset.name : "place";
      for (let n = 2; chosen.some((one) => one.name === name); n++) name = `place-${n}`;
      chosen.push({ x: dot ? at(dot, "cx") : x, y: dot ? at(dot, "cy") : y, lat, lon: ((lon + 540) % 360) - 180, name });
    }
    tell();
  };

  const held = new Map();
  let moved = 0;
  svg.addEventListener("pointerdown", (event) => {
    held.set(event.pointerId, [event.clientX, event.clientY]);
    moved = held.size > 1 ? 99 : 0;
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    const before = held.get(event.pointerId);
    if (!before) return;
    const now = [event.clientX, event.clientY];
    const other = [...held].find(([id]) => id !== event.pointerId);
    moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    held.set(event.pointerId, now);
    if (other) {
      const apart = (one) => Math.max(Math.hypot(one[0] - other[1][0], one[1] - other[1][1]), 10);
      zoom(apart(before) / apart(now), ...spot(event));
    } else if (moved > 4) move((before[0] - now[0]) * unit(), (before[1] - now[1]) * unit());
  });
  const up = (event) => {
    held.delete(event.pointerId);
    if (event.type === "pointerup" && moved <= 4 && picked) pick(...spot(event));
  };
  svg.addEventListener("pointerup", up);
  svg.addEventListener("pointercancel", up);
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && document.activeElement !== svg) return; // scrolling past is not zooming
    event.preventDefault();
    zoom(2 ** (Math.sign(event.deltaY) / 2), ...spot(event));
  }, { passive: false });
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
    if (step) move(step[0] * box[2], step[1] * box[3]);
    else if (event.key === "+" || event.key === "=") zoom(0.7);
    else if (event.key === "-") zoom(1 / 0.7);
    else if (event.key === "Enter" && picked) pick(box[0] + box[2] / 2, box[1] + box[3] / 2);
    else return;
    event.preventDefault();
  });
  const views = {
    nearer: () => zoom(0.6),
    further: () => zoom(1 / 0.6),
    usual: () => {
      box = [0, 0, wide, high];
      show();
    },
    all: () => {
      const size = Math.max(around[2] - around[0], ((around[3] - around[1]) * wide) / high) * 1.1;
      box = [(around[0] + around[2] - size) / 2, (around[1] + around[3] - (size * high) / wide) / 2, size, (size * high) / wide];
      show();
    },
  };
  for (const button of document.querySelectorAll("[data-view]")) button.addEventListener("click", views[button.dataset.view]);
  document.getElementById("map-buttons").hidden = false;
  svg.setAttribute("tabindex", "0");
  new ResizeObserver(show).observe(svg);
  if (picked) tell();
  show();
})();
