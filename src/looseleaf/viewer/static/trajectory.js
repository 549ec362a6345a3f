// One question: its steps with the pages that were shown, the memory as it grows, and what came of it.
import { api, cellBadge, el, fullId, isTyping, link, number, shortId } from "./dom.js";
import { rowsOf, warnings } from "./list.js";
import { openPage } from "./zoom.js";

const NOT_SHOWN = "The page cannot be shown.";

/** Why an image did not come, as the server says it. */
async function reason(url) {
  try {
    const answer = await fetch(url);
    return answer.ok ? NOT_SHOWN : (await answer.json()).error;
  } catch {
    return NOT_SHOWN;
  }
}

function thumbnail(run, item, page, score) {
  const gold = (item.question.gold_pages || []).includes(page);
  const url = api.image(run.name, item.id, page, "thumb");
  const image = el("img", {
    src: url,
    alt: `Page ${page}${gold ? ", a gold page" : ""}`,
    loading: "lazy",
    onerror: async () => image.replaceWith(el("span", { class: "nopage" }, await reason(url))),
  });
  const label = [`page ${page}`, gold && "gold", score !== undefined && number(score)].filter(Boolean).join(" · ");
  return el(
    "button",
    { type: "button", class: gold ? "page gold" : "page", onclick: () => openPage(run, item, page) },
    image,
    el("span", {}, label),
  );
}

function actionLine(step) {
  const action = step.action;
  if (!action) return el("p", { class: "bad" }, step.turn ? "no action that parses" : "opening");
  const given = Object.entries(action.arguments || {}).map(([name, value]) =>
    el("span", {}, el("span", { class: "muted" }, ` ${name} `), typeof value === "string" ? value : JSON.stringify(value)),
  );
  return el("p", { class: "action" }, el("code", {}, action.name), given);
}

function raw(title, text) {
  if (!text) return null;
  return el("details", {}, el("summary", {}, title), el("pre", { tabindex: "0" }, text));
}

function stepCard(run, item, step, index, choose) {
  const observation = step.observation || {};
  const scores = new Map((observation.returned || []).map((each) => [each.page, each.score]));
  const unseen = [...scores.keys()].filter((page) => !(observation.shown || []).includes(page));
  const usage = step.usage || {};
  const facts = [
    step.seconds ? `${number(step.seconds)} s` : "",
    usage.prompt_tokens ? `${usage.prompt_tokens.toLocaleString()} tokens in` : "",
    usage.completion_tokens ? `${usage.completion_tokens.toLocaleString()} out` : "",
  ].filter(Boolean);
  return el(
    "li",
    { class: "step", id: `step-${index}`, onclick: (event) => event.target.closest("button, a, summary, pre") || choose(index) },
    el("div", { class: "stephead" },
      el("button", { type: "button", class: "turn", onclick: () => choose(index) }, step.turn ? `Turn ${step.turn}` : "Opening"),
      el("span", { class: "muted" }, facts.join(" · "))),
    step.thought ? el("p", { class: "thought" }, step.thought) : null,
    actionLine(step),
    (step.notes || []).map((note) => el("p", { class: "action" }, el("code", {}, "note"), ` page ${note.source_page}: ${note.text}`)),
    step.invalid ? el("p", { class: "bad" }, `refused: ${step.invalid}`) : null,
    observation.text ? el("p", { class: "observation" }, observation.text) : null,
    (observation.shown || []).length
      ? el("div", { class: "pages" }, observation.shown.map((page) => thumbnail(run, item, page, scores.get(page))))
      : null,
    unseen.length ? el("p", { class: "muted" }, `returned but not shown: ${unseen.join(", ")}`) : null,
    raw("Raw model text", step.model_text),
  );
}

const VERDICT = { grounded: "good", contradicted: "bad", "not found": "bad", unchecked: "muted" };

function finding(run, item, each, turn) {
  const state = each.turn === turn ? "new" : "";
  const marks = [
    each.cites_gold === true && el("span", { class: "chip good" }, "gold page"),
    each.cites_gold === false && el("span", { class: "chip" }, "not a gold page"),
    each.page_was_shown === false && el("span", { class: "chip bad" }, "page was not shown"),
    each.sufficient && el("span", { class: "chip good" }, "answers alone"),
    each.necessary && el("span", { class: "chip good" }, "needed"),
    ...each.flags.map((flag) => el("span", { class: "chip bad" }, flag.replaceAll("_", " "))),
    ...each.grounding.map((verdict) =>
      el("span", { class: `chip ${VERDICT[verdict.verdict] || ""}`, title: verdict.check }, verdict.verdict || "check failed")),
  ].filter(Boolean);
  const claims = each.grounding.flatMap((verdict) => verdict.claims || []);
  return el(
    "li",
    { class: `finding ${state}`, "data-turn": each.turn },
    el("div", { class: "muted" }, `${each.number} · turn ${each.turn} · `,
      el("button", { type: "button", class: "linkish", onclick: () => openPage(run, item, each.page, each.text, claims) }, `page ${each.page}`)),
    el("p", {}, each.text),
    marks.length ? el("div", {}, marks) : null,
    claims.length
      ? el("ul", { class: "claims" }, claims.map((claim) =>
          el("li", { class: VERDICT[claim.verdict] || "" }, `${claim.text === each.text ? "all of it" : `${claim.kind}: ${claim.text}`} — ${claim.verdict}${claim.found ? ` (${claim.found})` : ""}`)))
      : null,
  );
}

/** The memory with a slider over the turns; `set(index)` shows it after that step. */
function memoryPanel(run, item, choose) {
  const steps = item.trajectory?.steps || [];
  const list = el("ol", { class: "memory" });
  const title = el("p", { class: "muted", "aria-live": "polite" });
  const slider = el("input", {
    type: "range", min: 0, max: Math.max(0, steps.length - 1), step: 1, "aria-label": "Step",
    oninput: (event) => choose(Number(event.target.value)),
  });
  const set = (index) => {
    const turn = steps.length ? steps[index]?.turn ?? 0 : Infinity;
    const held = item.memory.filter((each) => each.turn <= turn);
    slider.value = index;
    const score = item.history ? item.history[held.length] : null;
    title.textContent = [
      Number.isFinite(turn) ? `after turn ${turn}: ` : "",
      `${held.length} of ${item.memory.length} findings, ${words(held)} words`,
      score === null || score === undefined ? "" : ` · memory alone scores ${number(score)}`,
    ].join("");
    list.replaceChildren(...held.map((each) => finding(run, item, each, turn)));
  };
  const node = el("section", { class: "panel", "aria-label": "Memory" }, el("h2", {}, "Memory"),
    steps.length > 1 ? slider : null, title,
    item.memory.length ? list : el("p", { class: "muted" }, "Nothing was written."));
  return { node, set };
}

const words = (held) => held.reduce((total, each) => total + each.text.split(/\s+/).filter(Boolean).length, 0);

function verdict(score) {
  if (!score) return null;
  if (score.value === null) return el("span", { class: "chip" }, `unscored: ${score.unscored}`);
  return el("span", { class: score.correct ? "chip good" : "chip bad" }, `${score.correct ? "right" : "wrong"}, ${number(score.value)}`);
}

function outcome(item) {
  const record = item.trajectory;
  const gold = item.question.references;
  const rows = [
    ["Gold answer", gold.length ? gold.join(" | ") : "not known", item.question.unanswerable ? el("span", { class: "chip" }, "unanswerable") : null],
    ["Final answer", record?.answer ?? "none", verdict(item.answer_score)],
    item.prediction && item.prediction !== record?.answer ? ["Short answer scored", item.prediction, null] : null,
    ...item.readings.map((each) => [
      "From memory alone", each.text ?? `none (${each.error || each.unscored})`,
      el("span", {}, each.value === null ? null : verdict({ value: each.value, correct: each.correct }), el("span", { class: "muted" }, ` ${each.reader}`)),
    ]),
  ].filter(Boolean);
  return el("section", { class: "panel", "aria-label": "Outcome" }, el("h2", {}, "Outcome"), el("p", {}, cellBadge(item.cell),
    item.scorers_differ ? el("span", { class: "chip" }, "scorers disagree") : null),
    el("dl", {}, rows.flatMap(([name, text, mark]) => [el("dt", {}, name), el("dd", {}, text, " ", mark)])));
}

function facts(item) {
  const record = item.trajectory;
  if (!record) return "not run";
  const usage = record.usage || {};
  return [
    `ended: ${record.stop_reason.replaceAll("_", " ")}`,
    `${number(record.seconds)} s`,
    usage.calls ? `${usage.calls} calls` : "",
    usage.prompt_tokens ? `${usage.prompt_tokens.toLocaleString()} tokens in, ${(usage.completion_tokens || 0).toLocaleString()} out` : "",
    usage.cost ? `cost ${number(usage.cost, 4)}` : "",
    record.step_of_training !== null && record.step_of_training !== undefined ? `training step ${record.step_of_training}` : "",
    ...Object.keys(record.oracle || {}).map((name) => `oracle: ${name}`),
  ].filter(Boolean).join(" · ");
}

/** Steps, memory and outcome of one run's trajectory. */
function column(run, item, titled, choose) {
  const record = item.trajectory;
  const memory = memoryPanel(run, item, choose);
  const steps = record?.steps || [];
  const shown = [...new Set(steps.flatMap((step) => step.observation?.shown || []))];
  const gold = item.question.gold_pages;
  const missed = (gold || []).filter((page) => !shown.includes(page));
  const open = (page) => el("button", { type: "button", class: "linkish", onclick: () => openPage(run, item, page) }, page);
  const goldLine = gold === null ? "gold pages: not annotated" : gold.length ? ["gold pages:", ...gold.map(open)] : "no gold page";
  const node = el(
    "div",
    { class: "column" },
    titled ? el("h2", { class: "runname" }, run.name) : null,
    el("p", { class: "muted" }, facts(item)),
    record?.error ? el("p", { class: "bad" }, record.error) : null,
    el("div", { class: "split" },
      el("section", { "aria-label": "Steps" },
        titled ? null : el("h2", {}, "Steps"),
        el("p", { class: "muted", "data-gold": "" }, goldLine, missed.length && record ? el("span", { class: "bad" }, ` · never shown: ${missed.join(", ")}`) : null),
        steps.length
          ? el("ol", { class: "steps" }, steps.map((step, index) => stepCard(run, item, step, index, choose)))
          : el("p", { class: "muted" }, record ? "This trajectory has no steps." : "There is no trajectory of this question yet.")),
      el("div", { class: "side" }, outcome(item), memory.node)),
  );
  const set = (index) => {
    memory.set(Math.min(index, Math.max(0, steps.length - 1)));
    for (const card of node.querySelectorAll(".step")) card.classList.toggle("current", card.id === `step-${index}`);
  };
  return { node, set, steps: steps.length };
}

async function neighbours(state, run, id) {
  if (!state.order[run.name]) state.order[run.name] = (await rowsOf(state, run)).map((row) => row.id);
  const order = state.order[run.name];
  const place = order.indexOf(id);
  return { before: order[place - 1], after: place < 0 ? undefined : order[place + 1], place, count: order.length };
}

export async function trajectoryPage(state, run, second, third, query) {
  const id = fullId(second);
  const beside = state.runs.find((each) => each.name === query.with && each.name !== run.name);
  const [item, near, other] = await Promise.all([
    api.trajectory(run.name, id),
    neighbours(state, run, id),
    beside ? api.trajectory(beside.name, id).catch((problem) => ({ problem })) : null,
  ]);
  let index = third === undefined ? Math.max(0, (item.trajectory?.steps.length || 1) - 1) : Math.max(0, Number(third) || 0);
  const columns = [];
  const set = () => columns.forEach((each) => each.set(index));
  const choose = (chosen, scroll = false) => {
    index = chosen;
    set();
    history.replaceState(null, "", link([run.name, shortId(id), index], query));
    document.getElementById("main").dataset.ready = location.hash;
    if (scroll) document.getElementById(`step-${index}`)?.scrollIntoView({ block: "nearest" });
  };
  columns.push(column(run, item, Boolean(beside), choose));
  if (beside && !other.problem) columns.push(column(beside, other, true, choose));
  const go = (to) => to && (location.hash = link([run.name, shortId(to)], query));
  const most = Math.max(...columns.map((each) => each.steps));
  set();
  const node = el(
    "div",
    { class: beside ? "wide two" : "wide" },
    crumbs(state, run, near, query, id, go),
    el("h1", { class: "question" }, item.question.text || id),
    el("p", { class: "muted" }, [shortId(id), item.question.doc, item.question.type, item.question.format, item.question.sources.join(", ")].filter(Boolean).join(" · ")),
    run.page_problem ? warnings({ ...run, n: 0, with_trajectory: 0, torn: false, score_id: "known" }) : null,
    beside && other.problem ? el("p", { class: "bad" }, `${beside.name}: ${other.problem.message}`) : null,
    el("div", { class: "columns" }, columns.map((each) => each.node)),
    el("p", { class: "muted keys" }, "Keys: ", el("kbd", {}, "j"), " ", el("kbd", {}, "k"), " step · ",
      el("kbd", {}, "n"), " ", el("kbd", {}, "p"), " question · ", el("kbd", {}, "u"), " list"),
  );
  const keys = (event) => {
    if (isTyping(event)) return;
    if (event.key === "j" && index < most - 1) choose(index + 1, true);
    else if (event.key === "k" && index > 0) choose(index - 1, true);
    else if (event.key === "n") go(near.after);
    else if (event.key === "p") go(near.before);
    else if (event.key === "u") location.hash = link([run.name]);
  };
  return { node, keys, title: item.question.text || id, shown: () => third !== undefined && document.getElementById(`step-${index}`)?.scrollIntoView({ block: "nearest" }) };
}

function crumbs(state, run, near, query, id, go) {
  const step = (label, to) => el("button", { type: "button", disabled: to ? null : true, onclick: () => go(to) }, label);
  const others = state.runs.filter((each) => each.name !== run.name);
  const select = el(
    "select",
    { onchange: (event) => (location.hash = link([run.name, shortId(id)], { ...query, with: event.target.value })) },
    el("option", { value: "" }, "no other run"),
    others.map((each) => el("option", { value: each.name }, each.name)),
  );
  select.value = query.with || "";
  return el("nav", { class: "crumbs", "aria-label": "Question" },
    el("a", { href: link([run.name]) }, `‹ ${run.name}`), step("‹ Previous", near.before),
    el("span", { class: "muted" }, near.place < 0 ? "" : `${near.place + 1} of ${near.count}`), step("Next ›", near.after),
    others.length ? el("label", { class: "field inline" }, el("span", {}, "beside"), select) : null);
}
