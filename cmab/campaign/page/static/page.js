// Keep what was typed into a form until it is stored, so that a reload or the way back loses nothing.
for (const form of document.querySelectorAll("form[data-keep]")) {
  const key = form.dataset.keep;
  const fields = [...form.elements].filter((field) => field.id && field.type !== "hidden");
  const kept = JSON.parse(sessionStorage.getItem(key) || "{}");
  for (const field of fields.filter((field) => field.id in kept)) {
    field[typeof kept[field.id] === "boolean" ? "checked" : "value"] = kept[field.id];
    if (kept[field.id]) field.closest("details")?.setAttribute("open", "");
  }
  form.addEventListener("input", () => {
    const now = fields.map((field) => [field.id, /checkbox|radio/.test(field.type) ? field.checked : field.value]);
    sessionStorage.setItem(key, JSON.stringify(Object.fromEntries(now)));
  });
}
document.querySelector("form[action='/logout']")?.addEventListener("submit", () => sessionStorage.clear());
