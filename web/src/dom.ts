/** Small helpers: elements by name, text for people. Nothing here sets HTML from data. */
type Child = Node | string;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`The page has no element ${id}.`);
  return found;
}

export function button(label: string, act: () => void, attributes: Record<string, string> = {}): HTMLButtonElement {
  const made = element("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", act);
  return made;
}

export function numbers(items: [string, string, string][]): HTMLElement {
  return element(
    "dl",
    { class: "numbers" },
    ...items.map(([name, value, about]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, value, element("small", {}, about))),
    ),
  );
}

export const digits = (value: number, count = 4) =>
  Number(value.toPrecision(count)).toLocaleString(document.documentElement.lang || "en");
export const metres = (value: number) => (value >= 1000 ? `${digits(value / 1000, 3)} km` : `${digits(value, 3)} m`);
