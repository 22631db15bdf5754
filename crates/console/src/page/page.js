"use strict";
// Polls the view each second and draws it. Texts are put in as text, never as HTML. What has not changed is left
// as it is, so that focus, selection and a screen reader's place stay.

const POLL_MS = 1000;
const byId = (id) => document.getElementById(id);
let token = "";

// Groups of states, in the order of a life.
const GROUPS = [
  ["coming", ["queued", "requested", "allocated", "installing"]],
  ["running", ["running"]],
  ["leaving", ["drain_requested", "draining", "drained", "terminating"]],
  ["failed", ["allocation_failed", "allocation_timed_out", "install_failed", "termination_failed"]],
];
const groupOf = (state) => (GROUPS.find(([, states]) => states.includes(state)) || ["failed"])[0];
const plain = (state) => state.replaceAll("_", " ");

function el(tag, properties, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

function table(caption, heads, rows) {
  const cell = (tag, scope) => (content) => el(tag, scope, ...[content].flat());
  const head = el("tr", null, ...heads.map(cell("th", { scope: "col" })));
  const body = rows.map(([first, ...rest]) =>
    el("tr", null, cell("th", { scope: "row" })(first), ...rest.map(cell("td"))));
  return el("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": caption },
    el("table", null, el("caption", null, caption), el("thead", null, head), el("tbody", null, ...body)));
}

const badge = (kind, text) => el("span", { className: `badge ${kind}` }, text);
const why = (reason) => (reason ? [reason.text, " ", el("code", null, reason.code)] : "");
const short = (id) => (id && id.length > 16 ? el("abbr", { title: id }, `${id.slice(0, 12)}…`) : id || "");
const alert = (text) => el("p", { className: "alert" }, text);

function bar(pool) {
  const total = pool.states.reduce((sum, [, count]) => sum + count, 0);
  const room = Math.max(pool.max, total, 1);
  const words = pool.states.map(([state, count]) => `${count} ${plain(state)}`).join(", ") || "none";
  const parts = pool.states.map(([state, count]) => {
    const part = el("span", { className: `part ${groupOf(state)}`, title: `${count} ${plain(state)}` });
    part.style.width = `${(100 * count) / room}%`;
    return part;
  });
  return [el("div", { className: "bar", "aria-hidden": "true" }, ...parts), el("small", null, words)];
}

function pools(workload) {
  return table("Pools", ["Pool", "Min", "Max", "Machines", "Trouble"], workload.pools.map((pool) =>
    [pool.name, `${pool.min}`, `${pool.max}`, bar(pool), pool.trouble ? badge("failed", pool.trouble) : ""]));
}

function demand(workload) {
  const state = (one) => one.unplaced > 0
    ? [badge("failed", `no place for ${one.unplaced}`), el("ul", null, ...one.why.map((text) => el("li", null, text)))]
    : badge("running", "has a place");
  const waiting = [...workload.demand].sort((a, b) => (b.unplaced > 0) - (a.unplaced > 0));
  return table("Demand", ["What", "Kind", "Count", "State"], waiting.map((one) =>
    [one.what, one.kind, `${one.count}`, state(one)]));
}

function machines(workload) {
  const nodes = new Map(workload.nodes.map((node) => [node.node, node]));
  const about = (machine) => {
    const node = nodes.get(machine.node);
    return node ? [node.address, el("br"), el("small", null, node.used.join(", "))] : "";
  };
  return table("Machines", ["Machine", "Pool", "State", "For", "Node", "Why"], workload.machines.map((machine) =>
    [machine.instance, machine.pool, badge(groupOf(machine.state), plain(machine.state)), machine.since,
      [short(machine.node), " ", ...[about(machine)].flat()], why(machine.why)]));
}

// Nodes that no record of ours stands for: they are left alone.
function others(workload) {
  const ours = new Set(workload.machines.map((machine) => machine.node));
  const rest = workload.nodes.filter((node) => !ours.has(node.node));
  if (!rest.length) return "";
  return table("Nodes without a record", ["Node", "Pool", "Status", "Address", "Used"], rest.map((node) =>
    [short(node.node), node.pool, node.status, node.address, node.used.join(", ")]));
}

function facts(workload) {
  const alerts = [];
  if (workload.failure) alerts.push(`It cannot be seen, and nothing is decided: ${workload.failure}`);
  else if (workload.hold) alerts.push(`Nothing is done: ${workload.hold.text}`);
  alerts.push(...workload.would);
  alerts.push(...workload.faults.map((fault) => `Left aside: ${fault}`));
  const line = `${workload.kind} · seen ${workload.seen} · planned ${workload.planned} · session ${workload.session || "unknown"}`;
  return [el("h2", null, workload.name), el("p", { className: "facts" }, line), ...alerts.map(alert)];
}

function providers(view) {
  return table("Providers", ["Provider", "Machines", "Listed", "Trouble"], view.providers.map((one) =>
    [one.name, `${one.machines}`, one.listed, one.failure ? badge("failed", one.failure) : ""]));
}

function events(view) {
  const time = (ms) => new Date(ms).toISOString().slice(11, 19);
  return table("Last events (UTC)", ["Time", "Workload", "About", "What"], view.events.map((event) =>
    [time(event.at), event.workload, event.subject, [event.message, " ", el("code", null, event.code)]]));
}

// A place on the page that is filled anew only when its data changed.
function slot(parent, key, tag, data, make) {
  parent.slots ??= new Map();
  if (!parent.slots.has(key)) {
    parent.slots.set(key, el(tag));
    parent.append(parent.slots.get(key));
  }
  const place = parent.slots.get(key);
  const text = JSON.stringify(data);
  if (place.text === text) return place;
  place.text = text;
  const region = place.querySelector(".scroll");
  const [left, focused] = region ? [region.scrollLeft, region === document.activeElement] : [0, false];
  place.replaceChildren(...[make(data)].flat());
  const anew = place.querySelector(".scroll");
  if (anew) anew.scrollLeft = left;
  if (anew && focused) anew.focus({ preventScroll: true });
  return place;
}

// Takes away places of workloads that are gone.
function keep(parent, keys) {
  for (const [key, place] of parent.slots || []) {
    if (!keys.includes(key)) {
      place.remove();
      parent.slots.delete(key);
    }
  }
}

function drawWorkload(main, workload) {
  const section = slot(main, `workload ${workload.name}`, "section", workload.name, () => []);
  section.setAttribute("aria-label", `Workload ${workload.name}`);
  const { name, kind, seen, planned, session, failure, hold, faults, would } = workload;
  slot(section, "facts", "div", { name, kind, seen, planned, session, failure, hold, faults, would }, facts);
  slot(section, "pools", "div", { pools: workload.pools }, pools);
  slot(section, "demand", "div", { demand: workload.demand }, (data) =>
    data.demand.length ? demand(data) : el("p", { className: "none" }, "Nothing is asked for."));
  const { machines: ours, nodes } = workload;
  slot(section, "machines", "div", { machines: ours, nodes }, (data) =>
    ours.length ? machines(data) : el("p", { className: "none" }, "There are no machines."));
  slot(section, "others", "div", { machines: ours, nodes }, others);
}

function draw(view) {
  byId("about").textContent = `version ${view.ostler}, running for ${view.up}`;
  const main = byId("main");
  keep(main, view.workloads.map((workload) => `workload ${workload.name}`));
  for (const workload of view.workloads) drawWorkload(main, workload);
  slot(byId("rest"), "providers", "div", { providers: view.providers }, providers);
  slot(byId("rest"), "events", "div", { events: view.events }, (data) => (data.events.length ? events(data) : ""));
  byId("rest").hidden = false;
}

function link(state, text) {
  const place = byId("link");
  if (place.textContent !== text) place.textContent = text;
  place.className = state;
}

async function poll() {
  try {
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    const answer = await fetch("api/v1/view", { headers, cache: "no-store", signal: AbortSignal.timeout(10 * POLL_MS) });
    if (answer.status === 401) {
      link("off", token ? "the token is not right" : "a token is needed");
      byId("door").hidden = false;
      return;
    }
    if (!answer.ok) throw new Error(`answer ${answer.status}`);
    draw(await answer.json());
    link("on", "live");
  } catch (error) {
    link("off", `no connection (${error.message}), trying again`);
  }
  setTimeout(poll, POLL_MS);
}

byId("door").addEventListener("submit", (event) => {
  event.preventDefault();
  token = byId("token").value.trim();
  byId("door").hidden = true;
  link("off", "connecting …");
  poll();
});
poll();
