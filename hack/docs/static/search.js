// Finds the pages that contain all words, those with the words in the title first.
const input = document.getElementById("search");
const results = document.getElementById("results");
const root = document.querySelector(".brand a").href;

function excerpt(text, word) {
  const at = text.toLowerCase().indexOf(word);
  return at < 0 ? "" : "…" + text.slice(Math.max(0, at - 30), at + 70).trim() + "…";
}

input.addEventListener("input", () => {
  const words = input.value.toLowerCase().split(/\s+/).filter((w) => w.length > 1);
  results.replaceChildren();
  results.hidden = words.length === 0;
  if (results.hidden) return;
  const found = searchIndex
    .map((page) => ({ page, title: page.title.toLowerCase(), text: page.text.toLowerCase() }))
    .filter((p) => words.every((w) => p.title.includes(w) || p.text.includes(w)))
    .map((p) => ({ page: p.page, score: 2 * words.filter((w) => p.title.includes(w)).length - p.page.url.startsWith("adr/") }))
    .sort((a, b) => b.score - a.score)
    .slice(0, 12);
  for (const { page } of found) {
    const link = document.createElement("a");
    link.href = new URL(page.url, root).href;
    link.textContent = page.title;
    const small = document.createElement("small");
    small.textContent = excerpt(page.text, words[0]);
    const item = document.createElement("li");
    item.append(link, small);
    results.append(item);
  }
  if (found.length === 0) results.textContent = "No page contains these words.";
});
