"use strict";
/* A survey, one case at a time. What was answered is kept in this browser, so that somebody can go on later, and
   leaves it only as a file that they save. Practice cases are asked for like the others, and are not in the file. */
(() => {
  const root = document.getElementById("study");
  const steps = [...root.querySelectorAll(".step")];
  const cases = steps.filter((step) => step.classList.contains("case"));
  const code = document.getElementById("code");
  const place = `recourse-audit-study-${root.dataset.study}`;
  const fieldsets = (step) => [...step.querySelectorAll("fieldset")];
  const rating = (fieldset) => Number(fieldset.querySelector("input:checked")?.value ?? 0);
  const ratings = (step) => fieldsets(step).map(rating);
  let at = 0;

  function keep() {
    try {
      localStorage.setItem(place, JSON.stringify({ at, code: code.value, ratings: cases.map(ratings) }));
    } catch {
      // A browser may keep nothing; then the survey has to be finished at once.
    }
  }

  function recall() {
    try {
      const kept = JSON.parse(localStorage.getItem(place));
      if (!kept) return;
      code.value = kept.code;
      cases.forEach((step, number) =>
        fieldsets(step).forEach((fieldset, question) => {
          const input = fieldset.querySelector(`input[value="${Number(kept.ratings[number][question])}"]`);
          if (input) input.checked = true;
        }),
      );
      at = Math.min(Math.max(kept.at, 0), steps.length - 1);
      root.querySelector(".kept").hidden = false;
    } catch {
      at = 0;
    }
  }

  function show() {
    steps.forEach((step, number) => (step.hidden = number !== at));
    for (const alert of root.querySelectorAll(".missing")) alert.textContent = "";
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
    at += by;
    keep();
    show();
    steps[at].querySelector("[tabindex]").focus();
    scrollTo(0, 0);
  }

  function save() {
    const participant = code.value.trim();
    const answers = cases.slice(Number(root.dataset.practice)).map(ratings);
    const text = JSON.stringify({ format: 1, study: root.dataset.study, participant, answers });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text, "\n"], { type: "application/json" }));
    link.download = `answers-${participant.replace(/[^\p{L}\p{N}]+/gu, "-")}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  document.getElementById("without-script").hidden = true;
  for (const button of root.querySelectorAll("[data-by]")) {
    button.addEventListener("click", () => move(Number(button.dataset.by)));
  }
  root.addEventListener("change", keep);
  document.getElementById("save").addEventListener("click", save);
  document.getElementById("restart").addEventListener("click", () => {
    if (!confirm(root.dataset.sure)) return;
    try {
      localStorage.removeItem(place);
    } catch {
      // Nothing was kept.
    }
    for (const input of root.querySelectorAll("input:checked")) input.checked = false;
    code.value = "";
    at = 0;
    show();
    code.focus();
  });
  recall();
  show();
})();
