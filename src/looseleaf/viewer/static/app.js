// Which page stands for which link: #/, #/run, #/run/question, #/run/question/step, #/run/~audit/sample/row.
import { api, el, link } from "./dom.js";
import { auditPage } from "./audit.js";
import { listPage } from "./list.js";
import { trajectoryPage } from "./trajectory.js";

const main = document.getElementById("main");
const state = { runs: [], order: {}, lists: {} };
let keys = null;
let current = 0;

function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decode);
  return { parts, query: Object.fromEntries(new URLSearchParams(query)) };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function header(runs, active) {
  const tabs = runs.map((run) =>
    el("a", { href: link([run.name]), class: "tab", "aria-current": run.name === active ? "page" : null }, run.name),
  );
  const audits = runs
    .filter((run) => run.name === active)
    .flatMap((run) =>
      run.audits.map((name) => el("a", { href: link([run.name, "~audit", name]), class: "tab" }, `Label ${name}`)),
    );
  document.getElementById("top").replaceChildren(
    el("a", { href: "#/", class: "brand" }, "looseleaf"),
    el("nav", { "aria-label": "Runs" }, tabs, audits),
  );
}

function runsPage() {
  const cards = state.runs.map((run) =>
    el(
      "li",
      { class: "card" },
      el("h2", {}, el("a", { href: link([run.name]) }, run.name)),
      el("p", { class: "muted" }, [run.data, run.policy, run.protocol].filter(Boolean).join(" · ")),
      el("p", {}, `${run.with_trajectory.toLocaleString()} of ${run.n.toLocaleString()} questions have a trajectory`),
      el("p", { class: "muted" }, run.score_id ? `scores ${run.score_id}` : "not scored yet"),
    ),
  );
  return { node: el("div", { class: "wide" }, el("h1", {}, "Runs"), el("ul", { class: "cards" }, cards)), title: "Runs" };
}

async function pageOf({ parts, query }) {
  const [name, second, third, fourth] = parts;
  if (!name) return state.runs.length === 1 ? listPage(state, state.runs[0], query) : runsPage();
  const run = state.runs.find((each) => each.name === name);
  if (!run) return { node: missing(`There is no run ${name} here.`), title: "Not found" };
  if (second === "~audit") return auditPage(state, run, third || "", fourth);
  if (second) return trajectoryPage(state, run, second, third, query);
  return listPage(state, run, query);
}

function missing(text) {
  return el("div", { class: "wide" }, el("h1", {}, "Nothing here"), el("p", {}, text), el("p", {}, el("a", { href: "#/" }, "All runs")));
}

async function show() {
  const turn = ++current;
  const where = route();
  header(state.runs, where.parts[0] || (state.runs.length === 1 ? state.runs[0].name : ""));
  let page;
  try {
    page = await pageOf(where);
  } catch (problem) {
    page = { node: missing(problem.message), title: "Not found" };
  }
  if (turn !== current) return; // another link was followed meanwhile
  keys = page.keys || null;
  if (page.node) {
    main.replaceChildren(page.node);
    if (!page.stay) window.scrollTo(0, 0);
  }
  document.title = `${page.title} · looseleaf`;
  page.shown?.();
  main.dataset.ready = location.hash || "#/";
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
window.addEventListener("hashchange", show);
document.addEventListener("keydown", (event) => keys?.(event));
state.runs = await api.runs();
await show();
