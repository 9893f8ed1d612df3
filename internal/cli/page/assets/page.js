// Replaces the content when the server says that something has changed, and filters while the user types.
"use strict";

let busy = false;
let again = false;
let typing = 0;

const connection = (text) => {
  const line = document.getElementById("connection");
  if (line.textContent !== text) line.textContent = text;
};

// refresh gets the page again. One request at a time: a change meanwhile causes one more.
async function refresh() {
  if (document.querySelector("main").dataset.live === "no") return;
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  try {
    do {
      again = false;
      const response = await fetch(location.href);
      replace(new DOMParser().parseFromString(await response.text(), "text/html"));
      connection("");
    } while (again);
  } catch {
    connection("Not connected: the content is outdated.");
  } finally {
    busy = false;
  }
}

// replace keeps the focus, the selection, and what the user has just typed.
function replace(page) {
  const now = page.querySelector("main");
  if (!now) return;
  const focused = document.activeElement;
  const { id, value, selectionStart, selectionEnd } = focused ?? {};
  const isText = focused?.matches("main input[type=search]");
  for (const open of document.querySelectorAll("main details[open]")) now.querySelector("#" + open.id)?.setAttribute("open", "");
  document.querySelector("main").replaceWith(now);
  document.title = page.title;
  const same = id && document.getElementById(id);
  if (!same || !now.contains(same)) return;
  same.focus({ preventScroll: true });
  if (isText) {
    same.value = value;
    same.setSelectionRange(selectionStart, selectionEnd);
  }
}

// filter shows what the form selects, with a URL that can be shared.
function filter(form) {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value !== "") query.append(name, value);
  const url = form.getAttribute("action") + (query.size > 0 ? "?" + query : "");
  history.replaceState(null, "", url);
  refresh();
}

document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (!form) return;
  clearTimeout(typing);
  typing = setTimeout(() => filter(form), event.target.type === "search" ? 200 : 0);
});

document.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(typing);
  filter(event.target);
});

const updates = new EventSource(new URL("../updates", document.currentScript.src) + "?since=" + document.querySelector("main").dataset.version);
updates.addEventListener("change", refresh);
updates.addEventListener("open", () => connection(""));
updates.addEventListener("error", () => connection("Not connected: the content is outdated."));
