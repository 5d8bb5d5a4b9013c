// The script of the dashboard. Every page can be read without it. It keeps pages up to date, sends orders, and handles keys.
"use strict";
(() => {
  const HEALTH_INTERVAL_MS = 5000;
  const STALE_AFTER_MS = 12000;
  const REFRESH_DELAY_MS = 120;
  const MIN_REFRESH_INTERVAL_MS = 1000;
  const CONNECT_GRACE_MS = 3000;
  // Nobody can read a text in this time.
  const UNREAD_MS = 800;

  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const csrf = () => one('meta[name="csrf-token"]')?.content ?? "";

  document.documentElement.classList.add("js");

  // --- Live updates -------------------------------------------------------------------------------------------------

  let lastSeen = Date.now();
  let wasOpen = false;
  let isStale = false;
  let refreshTimer = null;
  let isRefreshing = false;
  let wantsRefresh = false;
  let lastRefresh = 0;

  function age(milliseconds) {
    const seconds = Math.max(0, Math.floor(milliseconds / 1000));
    if (seconds < 60) return `${seconds}s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
    if (seconds < 86400) return `${Math.floor(seconds / 3600)}h`;
    return `${Math.floor(seconds / 86400)}d`;
  }

  function showConnection() {
    const label = one("#connection");
    if (!label) return;
    const silence = Date.now() - lastSeen;
    if (!wasOpen && silence < CONNECT_GRACE_MS) return;
    const stale = silence > STALE_AFTER_MS || source?.readyState !== EventSource.OPEN;
    label.textContent = stale ? `not live: last seen ${age(silence)} ago` : "live";
    label.dataset.state = stale ? "stale" : "live";
    document.body.classList.toggle("stale", stale);
    if (isStale && !stale) scheduleRefresh();
    isStale = stale;
  }

  function showAges() {
    for (const element of all("time[data-age]")) {
      const text = `${age(Date.now() - Date.parse(element.dateTime))} ago`;
      if (!isStale && element.textContent !== text) element.textContent = text;
    }
  }

  async function checkHealth() {
    try {
      const answer = await fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(HEALTH_INTERVAL_MS) });
      if (answer.ok) lastSeen = Date.now();
      // Output of agents changes a page, too, and is not reported as a change.
      if (answer.ok && one(".status.run, .status.wait")) scheduleRefresh();
    } catch {
      // The label says since when the server is silent.
    }
    showConnection();
  }

  let source = null;
  let reconnectDelay = 500;

  function connect() {
    source = new EventSource("/api/changes/stream");
    source.addEventListener("open", () => {
      wasOpen = true;
      lastSeen = Date.now();
      reconnectDelay = 500;
      showConnection();
      // What changed before the stream was open was not reported.
      scheduleRefresh();
    });
    for (const name of ["changed", "gap"]) {
      source.addEventListener(name, () => {
        lastSeen = Date.now();
        scheduleRefresh();
      });
    }
    source.addEventListener("error", () => {
      showConnection();
      // A browser gives up after an answer that is not a stream.
      if (source.readyState === EventSource.CLOSED) {
        setTimeout(connect, reconnectDelay);
        reconnectDelay = Math.min(reconnectDelay * 2, 10000);
      }
    });
  }

  function scheduleRefresh() {
    wantsRefresh = true;
    if (refreshTimer || isRefreshing) return;
    const pause = lastRefresh + MIN_REFRESH_INTERVAL_MS - Date.now();
    refreshTimer = setTimeout(refresh, Math.max(REFRESH_DELAY_MS, pause));
  }

  async function refresh() {
    refreshTimer = null;
    wantsRefresh = false;
    isRefreshing = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
      if (answer.ok) {
        replaceSections(new DOMParser().parseFromString(await answer.text(), "text/html"));
        lastSeen = Date.now();
      }
    } catch {
      // The next change, or the end of the interruption, tries again.
    }
    isRefreshing = false;
    lastRefresh = Date.now();
    showConnection();
    if (wantsRefresh) scheduleRefresh();
  }

  function replaceSections(fresh) {
    document.title = fresh.title;
    const main = one("main");
    const wanted = one("main", fresh);
    if (!wanted) return;
    const ids = (root) => all("section[id]", root).map((section) => section.id).join(" ");
    if (ids(main) === ids(wanted)) {
      for (const section of all("section[id]", main)) {
        morph(section, document.importNode(fresh.getElementById(section.id), true));
      }
    } else {
      morph(main, document.importNode(wanted, true));
    }
    applyFilter();
    showSelection();
  }

  // Changes `present` into `wanted` in place, so that focus, scroll positions, open details and typed text are kept.
  function morph(present, wanted) {
    if (present.nodeType === Node.TEXT_NODE) {
      if (present.data !== wanted.data) present.data = wanted.data;
      return;
    }
    if (present.nodeType !== Node.ELEMENT_NODE || present.hasAttribute("data-keep")) return;
    morphAttributes(present, wanted);
    const old = [...present.childNodes].filter((node) => !isKeptChild(node));
    const byId = new Map(old.filter((node) => node.id).map((node) => [node.id, node]));
    const placed = new Set();
    let cursor = present.firstChild;
    let from = 0;
    for (const node of [...wanted.childNodes].filter((node) => !isKeptChild(node))) {
      const same = node.id ? byId.get(node.id) : nextMatch(old, placed, node, from);
      if (same) {
        from = old.indexOf(same) + 1;
        morph(same, node);
      }
      const target = same ?? node;
      placed.add(target);
      while (cursor && isKeptChild(cursor)) cursor = cursor.nextSibling;
      if (target === cursor) cursor = cursor.nextSibling;
      else present.insertBefore(target, cursor);
    }
    for (const node of old) if (!placed.has(node)) node.remove();
  }

  function nextMatch(old, matched, node, from) {
    return old.slice(from, from + 4).find((other) => !matched.has(other) && isSameKind(other, node));
  }

  function isSameKind(one, other) {
    return one.nodeType === other.nodeType && one.nodeName === other.nodeName && (one.id ?? "") === (other.id ?? "");
  }

  function isKeptChild(node) {
    return node.nodeType === Node.ELEMENT_NODE && node.hasAttribute("data-keep");
  }

  // The buttons and forms whose text has just changed. A click on them was meant for the text before.
  const changedAt = new WeakMap();

  function noteChangedText(present, wanted) {
    const seen = (element) => element.dataset?.body?.match(/"seen":"(\w+)"/)?.[1];
    const before = seen(present);
    if (before && before !== seen(wanted)) changedAt.set(present, Date.now());
  }

  function morphAttributes(present, wanted) {
    noteChangedText(present, wanted);
    const kept = present.nodeName === "DETAILS" ? ["open"] : ["value", "checked"];
    const ours = ["aria-selected", "aria-disabled"];
    for (const { name } of [...present.attributes]) {
      if (!wanted.hasAttribute(name) && !kept.includes(name) && !ours.includes(name)) present.removeAttribute(name);
    }
    for (const { name, value } of [...wanted.attributes]) {
      if (!kept.includes(name) && present.getAttribute(name) !== value) present.setAttribute(name, value);
    }
  }

  // --- Orders -------------------------------------------------------------------------------------------------------

  function say(text, kind = "note") {
    const area = one("#messages");
    area.replaceChildren();
    const line = document.createElement("p");
    line.className = `message ${kind}`;
    line.textContent = text;
    area.append(line);
  }

  async function order(path, body) {
    const answer = await fetch(path, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "X-Ralph-CSRF": csrf(),
        "Idempotency-Key": crypto.randomUUID?.() ?? String(Math.random()),
      },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    let result = {};
    try {
      result = text ? JSON.parse(text) : {};
    } catch {
      result = { detail: text };
    }
    if (!answer.ok) {
      const parts = [result.detail ?? result.title ?? `The server answered ${answer.status}.`, ...(result.hints ?? [])];
      throw new Error(parts.join(" · "));
    }
    return result;
  }

  async function send(element, path, body) {
    const control = element.matches("form") ? one("button", element) : element;
    if (control.getAttribute("aria-disabled") === "true") return;
    if (Date.now() - (changedAt.get(element) ?? 0) < UNREAD_MS) {
      say("The text has just changed. Read it again.", "error");
      return;
    }
    control.setAttribute("aria-disabled", "true");
    try {
      const result = await order(path, body);
      const then = element.dataset.then?.replace("{id}", encodeURIComponent(result.id ?? ""));
      if (then) {
        location.assign(then);
        return;
      }
      say(element.dataset.done ?? "Done.");
      if (element.matches("form")) element.reset();
      element.closest("[data-comment]")?.remove();
      scheduleRefresh();
    } catch (error) {
      say(error.message, "error");
    } finally {
      control.setAttribute("aria-disabled", "false");
    }
  }

  function valueOf(field) {
    const text = field.value.trim();
    if (field.type === "checkbox") return field.checked || undefined;
    if (!text) return undefined;
    switch (field.dataset.type) {
      case "number":
        return Number(text);
      case "lines":
        return text.split("\n").map((line) => line.trim()).filter(Boolean);
      case "pairs":
        return Object.fromEntries(text.split("\n").filter((line) => line.includes("=")).map((line) => {
          const at = line.indexOf("=");
          return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
        }));
      default:
        return text;
    }
  }

  function bodyOf(form) {
    const body = JSON.parse(form.dataset.body ?? "{}");
    for (const field of all("input[name], textarea[name], select[name]", form)) {
      const value = valueOf(field);
      if (value === undefined) continue;
      body[field.name] = typeof value === "string" ? (field.dataset.prefix ?? "") + value : value;
    }
    return body;
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.post) {
      event.preventDefault();
      if (button.dataset.confirm && !confirm(button.dataset.confirm)) return;
      const path = button.dataset.post;
      send(button, path, JSON.parse(button.dataset.body ?? "{}"));
    } else if (button.dataset.copy) {
      copy(one(button.dataset.copy), button);
    } else if (button.dataset.comment !== undefined && button.dataset.line !== undefined) {
      openComment(button);
    } else if (button.dataset.close !== undefined) {
      button.closest("[data-comment], dialog")?.remove();
    } else if (button.dataset.unfold !== undefined) {
      const details = all("details", one(button.dataset.unfold));
      const open = details.some((element) => !element.open);
      for (const element of details) element.open = open;
    }
  });

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.dataset.post) return;
    event.preventDefault();
    send(form, form.dataset.post, bodyOf(form));
  });

  async function copy(element, button) {
    try {
      await navigator.clipboard.writeText(element.textContent);
      button.textContent = "copied";
    } catch {
      const range = document.createRange();
      range.selectNodeContents(element);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      say("The text is selected. Copy it with Ctrl+C.");
    }
  }

  // --- Comments on lines of a diff -----------------------------------------------------------------------------------

  function openComment(button) {
    one("tr[data-comment]")?.remove();
    const row = button.closest("tr");
    const template = one("#comment-form");
    const fresh = template.content.cloneNode(true);
    const form = one("form", fresh);
    const field = one("textarea", fresh);
    const place = `${button.dataset.file}:${button.dataset.line}`;
    field.dataset.prefix = `About ${place}: \`${button.dataset.code}\`\n`;
    one("[data-place]", fresh).textContent = place;
    form.dataset.done = "The comment is guidance for the next prompt.";
    row.after(fresh);
    field.focus();
  }

  // --- Keyboard -----------------------------------------------------------------------------------------------------

  let selected = -1;
  let wentG = false;

  const rows = () => all("[data-row]").filter((row) => row.offsetParent !== null);

  function showSelection() {
    const shown = rows();
    shown.forEach((row, at) => row.toggleAttribute("data-selected", at === selected));
  }

  function select(step) {
    const shown = rows();
    if (!shown.length) return;
    selected = Math.max(0, Math.min(shown.length - 1, selected + step));
    showSelection();
    const link = one("a[href]", shown[selected]);
    (link ?? shown[selected]).focus({ preventScroll: true });
    shown[selected].scrollIntoView({ block: "nearest" });
  }

  const GO = { h: "/", b: "/board", r: "/runs", t: "/tasks", w: "/workflows", s: "/stats", n: "/start" };

  function isTyping(target) {
    return target.matches?.("input, textarea, select, [contenteditable]");
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const help = one("#keys");
    if (event.key === "Escape") {
      // The browser would clear the field, and the rows would no longer be those of its words.
      if (event.target.matches?.("[data-filter]")) event.preventDefault();
      help?.close();
      one("tr[data-comment]")?.remove();
      event.target.blur?.();
      return;
    }
    if (isTyping(event.target)) return;
    if (wentG) {
      wentG = false;
      if (GO[event.key]) {
        event.preventDefault();
        location.assign(GO[event.key]);
      }
      return;
    }
    switch (event.key) {
      case "g":
        wentG = true;
        break;
      case "?":
        help?.open ? help.close() : help?.showModal();
        break;
      case "j":
        select(1);
        break;
      case "k":
        select(-1);
        break;
      case "/": {
        const filter = one("[data-filter]");
        if (!filter) return;
        event.preventDefault();
        filter.focus();
        filter.select();
        break;
      }
      case "Enter":
        if (event.target === document.body && rows()[selected]) one("a[href]", rows()[selected])?.click();
        break;
      default:
    }
  });

  // Hides the rows that do not match. A refresh brings rows that the filter has not seen.
  function applyFilter() {
    const filter = one("[data-filter]");
    if (!filter) return;
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of all("[data-row]")) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    const count = one("[data-filter-count]");
    if (count) count.textContent = words.length ? `${all("[data-row]:not([hidden])").length} shown` : "";
  }

  document.addEventListener("input", (event) => {
    if (!event.target.matches("[data-filter]")) return;
    applyFilter();
    selected = -1;
  });

  connect();
  setInterval(checkHealth, HEALTH_INTERVAL_MS);
  setInterval(() => {
    showConnection();
    showAges();
  }, 1000);
})();
