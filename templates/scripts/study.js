"use strict";
/* A survey, one case at a time. What was answered is kept in this browser, so that somebody can go on later, and
   leaves it only as a file that they save; whoever opens the page again is asked whether these answers are theirs.
   Practice cases are asked for like the others, and are not in the file. The code decides on the version: in B, the
   third and the fourth graph of each case change places, so that a habit of rating one of them higher evens out. */
(() => {
  const root = document.getElementById("study");
  const steps = [...root.querySelectorAll(".step")];
  const cases = steps.filter((step) => step.classList.contains("case"));
  const code = document.getElementById("code");
  const resume = document.getElementById("continue");
  const place = `recourse-audit-study-${root.dataset.study}`;
  const fieldsets = (step) => [...step.querySelectorAll("fieldset")];
  const rating = (fieldset) => Number(fieldset.querySelector("input:checked")?.value ?? 0);
  const ratings = (step) => fieldsets(step).map(rating);
  let at = 0;
  let reached = 0;
  let version = "A";

  function keep() {
    try {
      localStorage.setItem(place, JSON.stringify({ reached, code: code.value, ratings: cases.map(ratings) }));
    } catch {
      // A browser may keep nothing; then the survey has to be finished at once.
    }
  }

  function recall() {
    try {
      const kept = JSON.parse(localStorage.getItem(place));
      if (!kept) return;
      cases.forEach((step, number) =>
        fieldsets(step).forEach((fieldset, question) => {
          const input = fieldset.querySelector(`input[value="${Number(kept.ratings[number][question])}"]`);
          if (input) input.checked = true;
        }),
      );
      code.value = kept.code;
      reached = Math.min(Math.max(kept.reached, 1), steps.length - 1);
      turn();
    } catch {
      // What was kept is not of this page.
    }
  }

  function turn() {
    const own = code.value.trim().slice(-1).charCodeAt(0) % 2 ? "A" : "B";
    if (own === version) return;
    version = own;
    for (const graphs of root.querySelectorAll(".graphs")) graphs.append(graphs.children[2]);
    for (const name of root.querySelectorAll(".place")) name.hidden = !name.hidden;
  }

  function show() {
    steps.forEach((step, number) => (step.hidden = number !== at));
    for (const alert of root.querySelectorAll(".missing")) alert.textContent = "";
    root.querySelector(".fresh").hidden = reached > 0;
    root.querySelector(".kept").hidden = !reached;
    resume.textContent = resume.dataset.text.replace("{code}", () => code.value.trim());
  }

  function go(to) {
    at = to;
    show();
    steps[at].querySelector("[tabindex]").focus();
    scrollTo(0, 0);
  }

  function move(by) {
    const step = steps[at];
    const open =
      step.id === "start"
        ? [code].filter((input) => !input.value.trim())
        : fieldsets(step)
            .filter((fieldset) => !rating(fieldset))
            .map((fieldset) => fieldset.querySelector("input"));
    if (by > 0 && open.length) {
      const alert = step.querySelector(".missing");
      alert.textContent = alert.dataset.text;
      open[0].focus();
      return;
    }
    turn();
    reached = Math.max(at + by, 1);
    keep();
    go(at + by);
  }

  function save() {
    const participant = code.value.trim();
    const answers = cases.slice(Number(root.dataset.practice)).map(ratings);
    const text = JSON.stringify({ format: 1, study: root.dataset.study, participant, version, answers });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text, "\n"], { type: "application/json" }));
    link.download = `answers-${participant.replace(/[^\p{L}\p{N}]+/gu, "-")}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function clear() {
    if (!confirm(root.dataset.sure)) return;
    try {
      localStorage.removeItem(place);
    } catch {
      // Nothing was kept.
    }
    for (const input of root.querySelectorAll("input:checked")) input.checked = false;
    code.value = "";
    reached = 0;
    go(0);
    code.focus();
  }

  document.getElementById("without-script").hidden = true;
  for (const button of root.querySelectorAll("[data-by]")) {
    button.addEventListener("click", () => move(Number(button.dataset.by)));
  }
  code.addEventListener("keydown", (event) => {
    if (event.key === "Enter") move(1);
  });
  root.addEventListener("change", () => reached && keep());
  resume.addEventListener("click", () => go(reached));
  document.getElementById("save").addEventListener("click", save);
  for (const button of root.querySelectorAll(".clear")) button.addEventListener("click", clear);
  recall();
  show();
})();
