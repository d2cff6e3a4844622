// Small tools for the elements of a page. Text is put in as text, never as markup: players choose it.

export const byId = (id) => document.getElementById(id);

/** A new element. Its properties may be just its class. */
export function make(tag, properties = {}, ...content) {
  const given = typeof properties === "string" ? { className: properties } : properties;
  const element = Object.assign(document.createElement(tag), given);
  element.append(...content);
  return element;
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Makes a button that copies what stands in another element. */
export function copyOnClick(button, source) {
  button.addEventListener("click", async () => {
    if (await copyText(button, source.textContent)) return;
    // Without permission, the text is selected: one key copies it.
    getSelection().selectAllChildren(source);
    setText(button, "Selected");
  });
}

/** Copies a text; the button says so, and soon what it said before. Whether that was allowed. */
export async function copyText(button, text, label = "Copy") {
  setTimeout(() => setText(button, label), 1500);
  try {
    await navigator.clipboard.writeText(text);
    setText(button, "Copied");
    return true;
  } catch {
    return false;
  }
}
