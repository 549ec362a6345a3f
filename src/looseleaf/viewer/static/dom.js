// Elements are built from text only: nothing that a model or a document wrote is ever parsed as markup.

/** One element. Attributes: `class`, `on…` functions, properties and attributes; children: elements, text, or nothing. */
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "value") made.value = value;
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export async function getJson(url) {
  const answer = await fetch(url);
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error || "The viewer did not answer.");
  return body;
}

export const api = {
  runs: () => getJson("/api/runs"),
  questions: (run) => getJson(`/api/runs/${encodeURIComponent(run)}/questions`),
  trajectory: (run, id) => getJson(`/api/runs/${encodeURIComponent(run)}/trajectory?id=${encodeURIComponent(id)}`),
  text: (run, id, page) => getJson(`/api/runs/${encodeURIComponent(run)}/text?id=${encodeURIComponent(id)}&page=${page}`),
  words: (run, id, page) => getJson(`/api/runs/${encodeURIComponent(run)}/words?id=${encodeURIComponent(id)}&page=${page}`),
  audit: (run, audit) => getJson(`/api/runs/${encodeURIComponent(run)}/audits/${encodeURIComponent(audit)}`),
  image: (run, id, page, size) =>
    `/api/runs/${encodeURIComponent(run)}/page?id=${encodeURIComponent(id)}&page=${page}&size=${size}`,
  async label(run, audit, trajectoryId, labels) {
    const answer = await fetch(`/api/runs/${encodeURIComponent(run)}/audits/${encodeURIComponent(audit)}/label`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ trajectory_id: trajectoryId, labels }),
    });
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.error || "The label was not saved.");
    return body;
  },
};

const part = (text) => encodeURIComponent(text).replaceAll("%3A", ":");

/** A link into the viewer: `#/run/question/step?filters`. The first sample of a question goes without its number. */
export function link(parts, query = {}) {
  const given = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "" && value !== null));
  const text = given.toString();
  return `#/${parts.map((each) => part(String(each))).join("/")}${text ? `?${text}` : ""}`;
}

export const shortId = (id) => (id.endsWith("#0") ? id.slice(0, -2) : id);
export const fullId = (text) => (/#\d+$/.test(text) ? text : `${text}#0`);

export const CELLS = {
  11: "memory-supported correct",
  10: "memory-missing correct",
  "01": "answering error",
  "00": "unresolved error",
};

/** Badge of an outcome cell; the marks are (answer, memory). */
export function cellBadge(cell) {
  if (!cell) return el("span", { class: "badge none" }, "unscored");
  return el("span", { class: `badge c${cell}`, title: CELLS[cell] }, CELLS[cell]);
}

export const number = (value, digits = 2) => (value === null || value === undefined ? "–" : Number(value).toFixed(digits));

export function say(text) {
  document.getElementById("live").textContent = text;
}

/** Whether a key press belongs to a field and not to the page. */
export const isTyping = (event) =>
  event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea, dialog");
