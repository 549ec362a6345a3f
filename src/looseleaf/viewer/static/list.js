// The question list: filters, sorting, pages of a hundred. All of it is in the link.
import { api, cellBadge, CELLS, el, link, number, say, shortId } from "./dom.js";

const PAGE = 100;
const COLUMNS = [
  ["question", "Question", (row) => row.question.toLowerCase()],
  ["cell", "Outcome", (row) => row.cell ?? "~"],
  ["answer", "Answer", (row) => row.answer_score ?? -1],
  ["memory", "Memory", (row) => row.memory_score ?? -1],
  ["pages", "Pages", (row) => row.pages],
  ["recall", "Recall", (row) => row.recall ?? -1],
  ["findings", "Findings", (row) => row.findings],
  ["turns", "Turns", (row) => row.turns],
  ["stop", "Ended", (row) => row.stop],
];
const NUMERIC = new Set(["answer", "memory", "pages", "recall", "findings", "turns"]);

/** Rows of a run's list; fetched once, and again where the run is incomplete. */
export async function rowsOf(state, run) {
  const known = state.lists[run.name];
  if (known && run.with_trajectory === run.n && !run.torn) return known;
  state.lists[run.name] = await api.questions(run.name);
  return state.lists[run.name];
}

function matches(row, query, others) {
  const text = (query.text || "").toLowerCase();
  if (text && !`${row.question} ${row.id} ${row.doc} ${row.answer}`.toLowerCase().includes(text)) return false;
  if (query.cell && (row.cell || "none") !== query.cell) return false;
  if (query.source && !(query.source === "(none)" ? !row.sources.length : row.sources.includes(query.source))) return false;
  if (query.type && (row.type || "(none)") !== query.type) return false;
  if (query.format && (row.format || "(none)") !== query.format) return false;
  if (query.stop && row.stop !== query.stop) return false;
  if (query.differ === "scorers" && !row.scorers_differ) return false;
  if (query.differ === "runs" && !runsDiffer(row, others)) return false;
  return !(query.differ === "error" && !row.error && !row.invalid);
}

function runsDiffer(row, others) {
  const other = others?.get(row.id);
  return Boolean(other && row.cell && other.cell && row.cell !== other.cell);
}

/** The rows that the link asks for, in its order. */
export function chosenRows(rows, query, others) {
  const [name, way] = (query.sort || "").split(".");
  const column = COLUMNS.find(([key]) => key === name);
  const found = rows.filter((row) => matches(row, query, others));
  if (!column) return found;
  const value = column[2];
  const sign = way === "down" ? -1 : 1;
  return found.sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    return sign * (x < y ? -1 : x > y ? 1 : 0);
  });
}

function options(rows, of) {
  const counts = new Map();
  for (const row of rows) for (const value of of(row)) counts.set(value, (counts.get(value) || 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([value, count]) => [value, `${value} (${count.toLocaleString()})`]);
}

function choice(label, key, values, query, change) {
  const select = el(
    "select",
    { onchange: (event) => change({ [key]: event.target.value }) },
    el("option", { value: "" }, "all"),
    values.map(([value, text]) => el("option", { value }, text)),
  );
  select.value = query[key] || "";
  return el("label", { class: "field" }, el("span", {}, label), select);
}

function filters(state, run, rows, query, change) {
  const cells = options(rows, (row) => [row.cell || "none"]).map(([value, text]) => [
    value,
    text.replace(value, CELLS[value] || "unscored"),
  ]);
  const others = state.runs.filter((each) => each.name !== run.name).map((each) => [each.name, each.name]);
  const differ = [
    ["error", "error or refused turn"],
    ...(run.scorers.length > 1 ? [["scorers", "scorers disagree"]] : []),
    ...(query.with ? [["runs", `cell differs from ${query.with}`]] : []),
  ];
  let waiting = 0;
  const search = el("input", {
    type: "search",
    value: query.text || "",
    placeholder: "question, answer, document",
    oninput: (event) => {
      clearTimeout(waiting);
      waiting = setTimeout(() => change({ text: event.target.value }), 150);
    },
  });
  return el(
    "form",
    { class: "filters", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() },
    el("label", { class: "field grow" }, el("span", {}, "Search"), search),
    choice("Outcome", "cell", cells, query, change),
    choice("Source", "source", options(rows, (row) => (row.sources.length ? row.sources : ["(none)"])), query, change),
    choice("Document type", "type", options(rows, (row) => [row.type || "(none)"]), query, change),
    choice("Format", "format", options(rows, (row) => [row.format || "(none)"]), query, change),
    choice("Ended", "stop", options(rows, (row) => [row.stop]), query, change),
    choice("Only", "differ", differ, query, change),
    others.length ? choice("Beside run", "with", others, query, change) : null,
  );
}

function heading([key, label], query, change) {
  const [name, way] = (query.sort || "").split(".");
  const active = name === key;
  const next = active && way === "up" ? `${key}.down` : active ? "" : `${key}.up`;
  return el(
    "th",
    {
      scope: "col",
      class: NUMERIC.has(key) ? "n" : null,
      "aria-sort": active ? (way === "down" ? "descending" : "ascending") : null,
    },
    el("button", { type: "button", class: "sort", onclick: () => change({ sort: next }) },
      label, el("span", { "aria-hidden": "true" }, active ? (way === "down" ? " ▼" : " ▲") : "")),
  );
}

function line(run, row, query, other) {
  const target = link([run.name, shortId(row.id)], query.with ? { with: query.with } : {});
  return el(
    "tr",
    { onclick: (event) => event.target.closest("a") || (location.hash = target) },
    el("td", { class: "q" },
      el("a", { href: target }, row.question || row.id),
      el("span", { class: "sub" }, [shortId(row.id), row.doc, row.sources.join(", ")].filter(Boolean).join(" · ")),
      row.error ? el("span", { class: "sub bad" }, row.error) : null),
    el("td", {}, cellBadge(row.cell), row.scorers_differ ? el("span", { class: "sub" }, "scorers disagree") : null,
      query.with ? el("span", { class: "sub" }, `${query.with}: ${other ? CELLS[other.cell] || "unscored" : "not there"}`) : null),
    el("td", { class: "n" }, number(row.answer_score)),
    el("td", { class: "n" }, number(row.memory_score)),
    el("td", { class: "n" }, row.pages),
    el("td", { class: "n" }, number(row.recall)),
    el("td", { class: "n" }, row.findings),
    el("td", { class: "n" }, row.turns),
    el("td", {}, row.stop.replaceAll("_", " ")),
  );
}

function pager(total, page, change) {
  const last = Math.max(0, Math.ceil(total / PAGE) - 1);
  if (!last) return null;
  const button = (label, to) =>
    el("button", { type: "button", disabled: to < 0 || to > last || null, onclick: () => change({ page: to || "" }, true) }, label);
  return el("nav", { class: "pager", "aria-label": "Pages of the list" }, button("‹ Previous", page - 1),
    el("span", {}, `page ${page + 1} of ${last + 1}`), button("Next ›", page + 1));
}

export function warnings(run) {
  const found = [];
  if (run.with_trajectory < run.n) {
    found.push(`This run is not complete: ${run.with_trajectory.toLocaleString()} of ${run.n.toLocaleString()} questions have a trajectory so far. The list is read again when you come back to it.`);
  }
  if (run.torn) found.push("The last line of trajectories.jsonl is incomplete (being written, or cut off); it is left out.");
  if (!run.score_id) found.push("This run is not scored yet, so there are no outcomes.");
  if (run.page_problem) found.push(`No page images: ${run.page_problem}`);
  return found.length ? el("ul", { class: "warnings" }, found.map((text) => el("li", {}, text))) : null;
}

export async function listPage(state, run, query) {
  if (run.with_trajectory < run.n || run.torn) {
    state.runs = await api.runs();
    run = state.runs.find((each) => each.name === run.name) || run;
  }
  const rows = await rowsOf(state, run);
  const beside = state.runs.find((each) => each.name === query.with);
  const others = beside ? new Map((await rowsOf(state, beside)).map((row) => [row.id, row])) : null;
  const body = el("div", {});
  const draw = () => body.replaceChildren(...drawn(state, run, rows, query, others, change));
  const change = (given, keepPage = false) => {
    query = { ...query, ...(keepPage ? {} : { page: "" }), ...given };
    if ("with" in given) {
      if (!given.with && query.differ === "runs") query.differ = "";
      location.hash = link([run.name], query);
      return;
    }
    history.replaceState(null, "", link([run.name], query));
    document.getElementById("main").dataset.ready = location.hash;
    draw();
    if (keepPage) window.scrollTo(0, 0);
  };
  draw();
  const facts = [run.data, run.policy, run.protocol, run.score_id && `scores ${run.score_id}`, run.reading_id && `readings ${run.reading_id}`];
  const node = el(
    "div",
    { class: "wide" },
    el("h1", {}, run.name),
    el("p", { class: "muted" }, facts.filter(Boolean).join(" · ")),
    warnings(run),
    filters(state, run, rows, query, change),
    body,
  );
  return { node, title: run.name };
}

function drawn(state, run, rows, query, others, change) {
  const found = chosenRows(rows, query, others);
  state.order[run.name] = found.map((row) => row.id);
  const page = Math.min(Number(query.page) || 0, Math.max(0, Math.ceil(found.length / PAGE) - 1));
  const part = found.slice(page * PAGE, (page + 1) * PAGE);
  const count = `${found.length.toLocaleString()} of ${rows.length.toLocaleString()} questions`;
  say(count);
  const columns = COLUMNS.map((column) => heading(column, query, change));
  const lines = part.map((row) => line(run, row, query, others?.get(row.id)));
  return [
    el("p", { class: "count", id: "count" }, count),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Questions" },
      el("table", { class: "list" }, el("thead", {}, el("tr", {}, columns)), el("tbody", {}, lines))),
    pager(found.length, page, change),
  ].filter(Boolean);
}
