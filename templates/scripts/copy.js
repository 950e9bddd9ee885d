// Copies the text beside a button. Without a script the buttons stay hidden, and the text is there.
"use strict";
for (const button of document.querySelectorAll("button[data-copied]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(text.textContent);
    } catch {
      window.getSelection().selectAllChildren(text); // no right to the clipboard: select it at least
      return;
    }
    button.textContent = button.dataset.copied;
  });
}
