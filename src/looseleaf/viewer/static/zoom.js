// A page in full, with zoom, and its text with the words of a finding marked.
import { api, el } from "./dom.js";

const STEPS = [50, 75, 100, 150, 200, 300];

/** Words worth marking: figures, and words of four letters or more. */
function wanted(finding, claims) {
  const texts = claims.length ? claims.map((claim) => claim.text) : [finding || ""];
  const found = texts.join(" ").match(/[\p{L}\p{N}][\p{L}\p{N}.,’'-]*[\p{L}\p{N}]|[\p{L}\p{N}]/gu) || [];
  return new Set(found.map((word) => word.toLowerCase()).filter((word) => word.length > 3 || /\d/.test(word)));
}

const core = (word) => word.toLowerCase().replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");

/** Marks the words of a finding on the image of its page. */
async function highlight(run, item, page, sheet, words) {
  if (!words.size) return;
  const found = await api.words(run.name, item.id, page).catch(() => []);
  for (const [word, left, top, right, bottom] of found) {
    if (!words.has(core(word))) continue;
    const mark = el("span", { class: "hit", title: word });
    Object.assign(mark.style, {
      left: `${100 * left}%`, top: `${100 * top}%`, width: `${100 * (right - left)}%`, height: `${100 * (bottom - top)}%`,
    });
    sheet.append(mark);
  }
  sheet.dataset.marked = "yes";
}

function marked(text, words) {
  if (!words.size) return [text];
  const parts = text.split(/([\p{L}\p{N}][\p{L}\p{N}.,’'-]*[\p{L}\p{N}]|[\p{L}\p{N}])/u);
  return parts.map((part) => (words.has(part.toLowerCase()) ? el("mark", {}, part) : part));
}

export function openPage(run, item, page, finding = "", claims = []) {
  const gold = (item.question.gold_pages || []).includes(page);
  let size = 2;
  const url = api.image(run.name, item.id, page, "full");
  const image = el("img", { alt: `Page ${page}${gold ? ", a gold page" : ""}`, src: url });
  image.addEventListener("error", async () => {
    const answer = await fetch(url);
    const said = answer.ok ? "The page cannot be shown." : (await answer.json()).error;
    sheet.replaceWith(el("p", { class: "bad" }, said));
  });
  const sheet = el("div", { class: "sheet" }, image);
  const level = el("span", { class: "muted", "aria-live": "polite" });
  const resize = (step) => {
    size = Math.min(STEPS.length - 1, Math.max(0, size + step));
    sheet.style.width = `${STEPS[size]}%`;
    level.textContent = `${STEPS[size]} %`;
  };
  const text = el("pre", { tabindex: "0", hidden: true });
  const toggle = async () => {
    text.hidden = !text.hidden;
    if (text.hidden || text.hasChildNodes()) return;
    try {
      const found = (await api.text(run.name, item.id, page)).text;
      text.append(...(found ? marked(found, wanted(finding, claims)) : ["This page has no text layer."]));
    } catch (problem) {
      text.append(problem.message);
    }
  };
  const button = (label, act) => el("button", { type: "button", onclick: act }, label);
  const dialog = el(
    "dialog",
    { class: "zoom", "aria-label": `Page ${page}`, onclose: () => dialog.remove() },
    el("div", { class: "zoomhead" },
      el("strong", {}, `${item.question.doc}, page ${page}`), gold ? el("span", { class: "chip good" }, "gold page") : null,
      button("−", () => resize(-1)), level, button("+", () => resize(1)), button("Text", toggle), button("Close", () => dialog.close())),
    finding ? el("p", { class: "finding new" }, finding) : null,
    el("div", { class: "zoombody", tabindex: "0", role: "region", "aria-label": "Page image" }, sheet, text),
  );
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "+" || event.key === "=") resize(1);
    if (event.key === "-") resize(-1);
  });
  resize(0);
  document.body.append(dialog);
  dialog.showModal();
  highlight(run, item, page, sheet, wanted(finding, claims));
}
