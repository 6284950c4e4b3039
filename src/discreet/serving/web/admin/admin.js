/** The operator's page: asks for the token, keeps it for as long as the tab is open, and shows the status of the server. */

import { make } from "../page/dom.js";
import { plot } from "./plot.js";
import { budgetOf, healthOf, qualityOf, sumsOf, versionsOf, weightsOf } from "./tables.js";

const KEPT = "discreet operator token", EVERY = 5_000;
const byId = (id) => document.getElementById(id);
let timer = null;

async function ask(path, method = "GET") {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEPT) ?? ""}` };
  const reply = await fetch(`/v1/admin${path}`, { method, headers, cache: "no-store" });
  const answer = await reply.json();
  if (!reply.ok) throw new Error(answer.error ?? `the server answered ${reply.status}`);
  return answer;
}

async function refresh() {
  clearTimeout(timer);
  try {
    show(await ask("/status"));
    timer = setTimeout(refresh, EVERY);
  } catch (error) {
    byId("problem").textContent = error.message;
    open(false);
  }
}

function open(isOpen) {
  byId("login").hidden = isOpen;
  byId("shown").hidden = byId("leave").hidden = !isOpen;
}

function show(status) {
  byId("when").textContent = `as of ${new Date(1000 * status.time).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  fill("quality", qualityOf(status.quality, plot));
  fill("sums", sumsOf(status.tasks));
  fill("budget", budgetOf(status.budget));
  fill("model", [...weightsOf(status.weights), ...versionsOf(status.model, change)]);
  fill("articles", [counts(status.articles, "articles"), counts(status.reports, "reports kept")]);
  fill("health", healthOf(status.running));
  open(true);
}

function counts(found, what) {
  const words = Object.entries(found).map(([name, count]) => `${count} ${name}`);
  return make("p", {}, `${words.length ? words.join(", ") : "no"} ${what}`);
}

/** Roll back to a version, if the operator means it, or lift the rollback, and look again. */
async function change(version) {
  if (version && !(await means(version))) return;
  byId("problem").textContent = "";
  try {
    await (version ? ask(`/models/${version}/rollback`, "POST") : ask("/rollback", "DELETE"));
  } catch (error) {
    byId("problem").textContent = error.message;
  }
  await refresh();
}

function means(version) {
  const dialog = byId("asking");
  byId("asking-words").textContent = `Every reader's device will rank with what version ${version.slice(0, 12)} knew, within a minute, until you lift it. What is learnt meanwhile is kept.`;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }));
}

/** What is the same stays, and keeps the focus. */
function fill(id, parts) {
  const fresh = make("div", {}, ...parts);
  if (byId(id).innerHTML !== fresh.innerHTML) byId(id).replaceChildren(...fresh.childNodes);
}

byId("login").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEPT, byId("token").value.trim());
  byId("token").value = byId("problem").textContent = "";
  refresh();
});
byId("leave").addEventListener("click", () => {
  sessionStorage.removeItem(KEPT);
  clearTimeout(timer);
  byId("when").textContent = "";
  for (const id of ["quality", "sums", "budget", "model", "articles", "health"]) byId(id).replaceChildren();
  open(false);
});
if (sessionStorage.getItem(KEPT)) refresh();
