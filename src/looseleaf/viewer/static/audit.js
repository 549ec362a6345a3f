// Labelling a human audit's sample with the keyboard. The judge's verdicts are not here, so nobody labels towards them.
import { api, el, isTyping, link, say } from "./dom.js";
import { openPage } from "./zoom.js";

const QUESTIONS = [
  ["final_right", "Is the final answer right?", ["1", "2"]],
  ["memory_sufficient", "Are the notes alone enough to answer the question?", ["3", "4"]],
];
const done = (row) => QUESTIONS.every(([name]) => row[name]);

export async function auditPage(state, run, name, fourth) {
  const rows = await api.audit(run.name, name);
  if (!rows.length) return { node: el("div", { class: "wide" }, el("h1", {}, "No rows")), title: name };
  const open = rows.findIndex((row) => !done(row));
  let place = fourth === undefined ? Math.max(0, open) : Math.min(rows.length - 1, Math.max(0, Number(fourth) - 1 || 0));
  const body = el("div", {});
  const go = (to) => {
    if (to < 0 || to >= rows.length) return;
    place = to;
    history.replaceState(null, "", link([run.name, "~audit", name, place + 1]));
    draw();
  };
  const save = async (label, value) => {
    const at = place;
    const row = rows[at];
    try {
      rows[at] = await api.label(run.name, name, row.trajectory_id, { [label]: row[label] === value ? "" : value });
      say("Saved.");
      if (at === place) draw("Saved.");
    } catch (problem) {
      draw(`Not saved: ${problem.message}`);
    }
  };
  const draw = (said = "") => body.replaceChildren(...drawn(run, rows, place, said, save, go));
  draw();
  const keys = (event) => {
    if (isTyping(event)) return;
    if (event.key === "j" || event.key === "ArrowRight") return go(place + 1);
    if (event.key === "k" || event.key === "ArrowLeft") return go(place - 1);
    for (const [label, , [yes, no]] of QUESTIONS) {
      if (event.key === yes) save(label, "yes");
      if (event.key === no) save(label, "no");
    }
  };
  return { node: el("div", { class: "wide narrow" }, el("h1", {}, `Label ${name}`), body), keys, title: `Label ${name}` };
}

function drawn(run, rows, place, said, save, go) {
  const row = rows[place];
  const count = rows.filter(done).length;
  const item = { id: row.trajectory_id, question: { doc: row.document, gold_pages: row.evidence_pages } };
  const page = (number) => el("button", { type: "button", class: "linkish", onclick: () => openPage(run, item, number) }, `page ${number}`);
  const memory = row.memory.length
    ? el("ol", { class: "memory" }, row.memory.map((text) => el("li", { class: "finding" }, el("p", {}, text), cited(text, page))))
    : el("p", { class: "muted" }, "No notes.");
  return [
    el("div", { class: "progress" },
      el("progress", { max: rows.length, value: count, "aria-label": "Rows labelled" }),
      el("span", {}, `${count} of ${rows.length} labelled`), el("span", { class: "saved", id: "saved" }, said)),
    el("nav", { class: "crumbs", "aria-label": "Rows" },
      el("button", { type: "button", disabled: place === 0 || null, onclick: () => go(place - 1) }, "‹ Previous (k)"),
      el("span", { class: "muted" }, `row ${place + 1} of ${rows.length}`),
      el("button", { type: "button", disabled: place === rows.length - 1 || null, onclick: () => go(place + 1) }, "Next (j) ›")),
    el("section", { class: "panel" },
      el("h2", { class: "question" }, row.question),
      el("p", { class: "muted" }, row.document, row.evidence_pages.length ? [" · gold: ", ...row.evidence_pages.map(page)] : " · no gold page"),
      el("dl", {}, el("dt", {}, "Gold answer"), el("dd", {}, row.gold_answer.join(" | ")),
        el("dt", {}, "Final answer"), el("dd", {}, row.final_answer || "none"))),
    el("section", { class: "panel" }, el("h2", {}, "Notes"), memory),
    el("div", { class: "labels" }, QUESTIONS.map(([name, text, [yes, no]]) =>
      el("fieldset", {}, el("legend", {}, text),
        [["yes", yes], ["no", no]].map(([value, key]) =>
          el("button", { type: "button", class: "label", "data-label": name, "data-value": value, "aria-pressed": row[name] === value ? "true" : "false",
            onclick: () => save(name, value) }, value === "yes" ? "Yes " : "No ", el("kbd", {}, key)))))),
    el("p", { class: "muted keys" }, "The same key again takes a label back. Every label is written to the file at once."),
  ];
}

function cited(text, page) {
  const found = /^\[page (\d+)\]/.exec(text);
  return found ? page(Number(found[1])) : null;
}
