/** The few things that the page does with the document. */

export const byId = (id) => document.getElementById(id);

/** An element with attributes (`on…` are listeners, false ones are left out) and children: nodes or text. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** Make these the children of a list. Those that stay are not touched: they keep the focus and the place on the screen. */
export function arrange(list, items) {
  const wanted = new Set(items);
  for (const item of [...list.children]) if (!wanted.has(item)) item.remove();
  items.forEach((item, place) => list.children[place] === item || list.insertBefore(item, list.children[place] ?? null));
}

/** Give an item that is shown the contents of another one, if they differ; the same item. */
export function renewed(item, fresh) {
  if (item.innerHTML !== fresh.innerHTML) {
    const isFocused = item.contains(item.getRootNode().activeElement);
    item.replaceChildren(...fresh.childNodes);
    if (isFocused) item.querySelector("a, button").focus({ preventScroll: true });
  }
  return item;
}

export function say(id, text) {
  const element = byId(id);
  if (element.textContent !== text) element.textContent = text;
}

export function show(id, visible) {
  byId(id).hidden = !visible;
}
