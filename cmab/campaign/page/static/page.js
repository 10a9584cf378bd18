// Keep what was typed into a form until the page tells that it was done: a reload, the way back, or an action in
// another tab loses nothing. Fields are kept by the names of people and items, because those of a round can change.
const sent = sessionStorage.getItem("sent");
sessionStorage.removeItem("sent");
if (sent && document.querySelector(".message.good")) sessionStorage.removeItem(sent);
else if (sent && sessionStorage.getItem(sent)) document.querySelector("#still-kept")?.removeAttribute("hidden");
for (const form of document.querySelectorAll("form[data-keep]")) {
  const key = form.dataset.keep;
  const mark = form.elements.mark.value;
  const is_choice = (field) => /checkbox|radio/.test(field.type);
  const nameOf = (field) => (field.dataset.of ?? field.name) + (is_choice(field) ? `=${field.value}` : "");
  const fields = new Map([...form.elements].filter((field) => field.id && field.type !== "hidden").map((field) => [nameOf(field), field]));
  const kept = JSON.parse(sessionStorage.getItem(key) || "{}");
  for (const [name, value] of Object.entries(kept.values ?? {})) {
    const field = fields.get(name);
    if (field) field[is_choice(field) ? "checked" : "value"] = value;
    else if (value && name.startsWith("joined=")) document.querySelector("#others").value += `\n${name.slice(7)}`;
    if (value) field?.closest("details")?.setAttribute("open", "");
  }
  if (kept.values && kept.mark !== mark) document.querySelector("#kept").removeAttribute("hidden");
  document.querySelector("#kept button").addEventListener("click", () => {
    sessionStorage.removeItem(key);
    location.assign(form.action);
  });
  form.addEventListener("input", () => {
    const values = Object.fromEntries([...fields].map(([name, field]) => [name, is_choice(field) ? field.checked : field.value]));
    sessionStorage.setItem(key, JSON.stringify({ mark, values }));
  });
  form.addEventListener("submit", () => sessionStorage.setItem("sent", key));
}
