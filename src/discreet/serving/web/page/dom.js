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

export function say(id, text) {
  const element = byId(id);
  if (element.textContent !== text) element.textContent = text;
}

export function show(id, visible) {
  byId(id).hidden = !visible;
}
