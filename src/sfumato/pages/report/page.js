"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  for (const box of document.querySelectorAll("[data-layer]")) {
    box.hidden = false;
    box.addEventListener("change", () => {
      const layer = document.getElementById("layer-" + box.dataset.layer);
      if (layer) layer.classList.toggle("hidden", !box.checked);
    });
  }
  const slider = document.getElementById("time");
  const said = document.getElementById("said");
  const cursor = document.getElementById("cursor");
  const show = (k) => {
    for (const name of ["original", "release"]) {
      const at = document.getElementById("at-" + name);
      if (at && data[name]) {
        at.setAttribute("cx", data[name][2 * k]);
        at.setAttribute("cy", data[name][2 * k + 1]);
      }
    }
    const when = new Date(1000 * data.times[k]).toISOString().slice(0, 19).replace("T", " ") + " UTC";
    said.textContent = data.away ? when + ": " + Math.round(data.away[k]) + " m from the truth" : when;
    if (cursor && data.x) cursor.setAttribute("d", "M" + data.x[k] + " 14V246");
  };
  slider.addEventListener("input", () => show(Number(slider.value)));
  document.getElementById("timeline").hidden = false;
  const chart = document.querySelector(".chart");
  if (chart && data.x) {
    chart.addEventListener("pointermove", (event) => {
      const box = chart.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * 960;
      let best = 0;
      data.x.forEach((value, k) => {
        if (Math.abs(value - x) < Math.abs(data.x[best] - x)) best = k;
      });
      slider.value = String(best);
      show(best);
    });
  }
})();
